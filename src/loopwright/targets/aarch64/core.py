"""An AArch64 core as the rewriting of loop nests sees it: Arm's Cortex-A76.

Arm, *Cortex-A76 Software Optimization Guide*, sections 2.1 (eight operations dispatched a cycle to the pipes, of which four take integers, two loads and
stores, two floats and vectors) and 3.3 to 3.16 (latencies and throughputs; of divisions and square roots, which depend on the operands, the greatest). Caches: the
smaller of the sizes that the second level may have; of a third level, which cores share, 2 MB.
"""

from __future__ import annotations

from typing import Final

from loopwright.targets.core import Core

__all__ = ["CORE"]

CORE: Final = Core(
    "Cortex-A76",
    issue=4,
    units={"integer": 3, "multiply": 1, "float": 2, "divide": 1, "memory": 2},
    registers=24,
    window=128,
    caches=(64 << 10, 256 << 10, 2 << 20),
    table=r"""
load.*                         | b?f.*        | memory   | 5  | 1
load.*                         | .*           | memory   | 4  | 1
store.*                        | .*           | memory   | 1  | 1
sqrt                           | f64          | divide   | 17 | 17
sqrt                           | .*           | divide   | 12 | 12
div                            | f64          | divide   | 15 | 14
div                            | f(32|16)     | divide   | 10 | 9
(div|rem|floordiv|mod).*       | .*           | divide   | 12 | 12
(fma|fms|fnma|fnms)            | b?f.*        | float    | 4  | 1
mul                            | b?f.*        | float    | 3  | 1
convert.*                      | b?f.*        | float    | 4  | 1
.*                             | b?f.*        | float    | 2  | 1
mul.*                          | .*           | multiply | 2  | 1
crc32c                         | .*           | multiply | 2  | 1
.*                             | .*           | integer  | 1  | 1
""",
)
