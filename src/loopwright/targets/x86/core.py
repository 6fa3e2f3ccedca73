"""An x86-64 core as the rewriting of loop nests sees it: about what the present ones of AMD and Intel have in common.

The latencies are those of ``timing.py`` for Zen 4 and Golden Cove, rounded to what both are near; a loop bound by a chain of operations is bound by it on
either. Windows: 320 (Zen 4; AMD, publication 57647, section 2.10) and 512 (Golden Cove) operations. Caches: 32 KB and 1 MB of
a core's own, as Zen 4 has, and no less in later cores of either; of the third level, which cores share, 8 MB, a quarter of what eight cores of Zen 4 have. A line of 64 bytes takes 8 cycles
from there: 25 GB/s at 3.1 GHz, between what one core has of memory and what it has of its second level. Rows beside each other are foreseen where they are not many more than 16: the prefetcher of Intel's second
level keeps track of 32 pages, one way through each (Intel optimization manual, "Data prefetch to the L2 and last level cache"); measured on Cascade Lake, rows of 2000 elements that are filtered along
themselves, of two arrays, take 2.8 to 3.8 ms 8 at a time, 3.3 to 17 ms 16 at a time, and of four arrays 7 ms and 17 ms 4 and 8 at a time.
"""

from __future__ import annotations

from typing import Final

from loopwright.targets.core import Core

__all__ = ["CORE"]

CORE: Final = Core(
    "x86-64",
    issue=6,
    units={"integer": 4, "multiply": 1, "float": 2, "divide": 1, "load": 2, "store": 1},
    registers=14,
    window=320,
    caches=(32 << 10, 1 << 20, 8 << 20),
    line=8,
    streams=16,
    table=r"""
load.*                         | .*           | load     | 4  | 1
store.*                        | .*           | store    | 1  | 1
rsqrt                          | f32          | float    | 20 | 4
rsqrt                          | f64          | float    | 40 | 9
sqrt                           | f64          | divide   | 18 | 9
sqrt                           | .*           | divide   | 13 | 5
div                            | f64          | divide   | 13 | 5
div                            | f(32|16)     | divide   | 11 | 4
(div|rem|floordiv|mod).*       | .*           | divide   | 14 | 8
(add|sub|mul|fma|fms|fnma|fnms|min|max).* | b?f.* | float | 4  | 1
convert.*                      | b?f.*        | float    | 5  | 1
(eq|ne|lt|le|gt|ge)            | b?f.*        | float    | 3  | 1
(floor|ceil|round|trunc).*     | b?f.*        | float    | 8  | 2
.*                             | b?f.*        | float    | 2  | 1
(min|max)                      | .*           | integer  | 2  | 2
mul.*                          | .*           | multiply | 3  | 1
crc32c                         | .*           | multiply | 3  | 1
.*                             | .*           | integer  | 1  | 1
""",
)
