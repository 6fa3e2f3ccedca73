"""Every planted fault is noticed by the tests that are named beside it, which pass without one."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.mutation.planted import CHECKOUT, PLANTED, Planted, noticed, outcome_of


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
    status, said = outcome_of(fault, fault.tests, tmp_path)
    assert noticed(status), said


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("tests", sorted({fault.tests for fault in PLANTED}), ids=" ".join)
def test_without_a_fault_the_tests_pass(tests: tuple[str, ...], tmp_path: Path) -> None:
    status, said = outcome_of(None, tests, tmp_path)
    assert status == 0, said
