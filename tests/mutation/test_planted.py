"""Every planted fault is noticed by the tests that are named beside it, of which the one that fails passes without the fault."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.mutation.planted import CHECKOUT, PLANTED, Planted, failed, noticed, outcome_of

#: Tests that have been seen to pass without a fault; several faults are noticed by one.
_PASSED: set[tuple[str, ...]] = set()


def test_the_faults_can_be_planted() -> None:
    assert len(PLANTED) >= 40
    assert len({fault.name for fault in PLANTED}) == len(PLANTED)
    for fault in PLANTED:
        text = (CHECKOUT / "src" / "loopwright" / fault.module).read_text(encoding="utf-8")
        assert text.count(fault.before) == 1, f"{fault.name}: the text is in {fault.module} {text.count(fault.before)} times"
        assert fault.before != fault.after
        compile(text.replace(fault.before, fault.after), fault.module, "exec")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("fault", PLANTED, ids=lambda fault: fault.name)
def test_planted_faults_are_noticed(fault: Planted, tmp_path: Path) -> None:
    status, said = outcome_of(fault, fault.tests, tmp_path / "with")
    assert noticed(status), said
    # By a test that passes where there is no fault.
    by = tuple(failed(said)) or fault.tests
    if by not in _PASSED:
        status, said = outcome_of(None, by, tmp_path / "without")
        assert status == 0, said
        _PASSED.add(by)
