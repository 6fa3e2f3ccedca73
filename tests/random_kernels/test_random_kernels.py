"""Random kernels mean what plain Python over NumPy scalars makes of them, on every target, and nothing is refused but what is documented."""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path

import pytest
from tests.random_kernels import coverage
from tests.random_kernels.compare import targets
from tests.random_kernels.kernels import make
from tests.random_kernels.kinds import GAPS
from tests.random_kernels.runs import Outcome, run

from loopwright.errors import UnsupportedOperationError

#: Kernels of a usual run; ``make random-kernels`` compares 10,000.
KERNELS = 200
_EACH = 25


@pytest.mark.parametrize("start", range(0, KERNELS, _EACH))
def test_random_kernels_mean_what_plain_python_means(start: int) -> None:
    outcome = Outcome()
    for part in run(range(start, start + _EACH)):
        outcome.add(part)
    assert not outcome.found, outcome.report()
    assert outcome.kernels == _EACH
    for target in targets():
        # Where it does not run it lacks something that the documentation names.
        assert outcome.ran[target] + outcome.lost[target.split("/")[0]] >= _EACH
        assert outcome.ran[target] > _EACH // 2


def test_random_kernels_hold_nearly_every_statement_and_operation_on_every_type() -> None:
    counts: Counter[coverage.Key] = Counter()
    for seed in range(1500):
        counts += coverage.count(make(seed))
    expected = list(coverage.expected())
    assert sum(not counts[key] for key in expected) < 0.05 * len(expected)


def test_a_kernel_is_the_same_for_the_same_seed() -> None:
    assert make(7).text() == make(7).text() != make(8).text()


_CASES = [
    pytest.param(row, kind, target, line, id=f"{line.replace('KIND', kind)}, {kind}, {target}")
    for row in GAPS.values()
    for kind in row.kinds
    for target in sorted(row.targets)
    for line in row.lines
]


@pytest.mark.parametrize(("row", "kind", "target", "line"), _CASES)
def test_what_random_kernels_may_be_refused_for_is_refused(row, kind, target, line, tmp_path: Path) -> None:
    """An operation that has become available is struck from the table, and used in random kernels from then on."""
    path = tmp_path / "gap.py"
    path.write_text(
        "import loopwright as lw\n\n\n@lw.kernel\n"
        f"def kernel(x: lw.Array[lw.{kind}], y: lw.Array[lw.{kind}], f: lw.Array[lw.f32], d: lw.Array[lw.f64]) -> lw.u64:\n"
        f"    t = lw.{kind}(1)\n    c = lw.u32(1)\n    for i in {row.loop}(len(x)):\n        {line.replace('KIND', kind)}\n    return lw.u64(t) + lw.u64(c)\n"
    )
    spec = importlib.util.spec_from_file_location("gap", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(UnsupportedOperationError, match=target):
        module.kernel.compile(target=target)
