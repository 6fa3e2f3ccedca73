"""Make ``src/loopwright/elementary/coefficients.py``: the polynomials of the elementary functions.

``python -m tools.coefficients`` writes the file; ``python -m tools.coefficients NAME …`` prints only those rows.

Each polynomial is the best approximation, in the sense of the largest weighted error, of a function on an interval, by Remez's exchange (E. Remez, 1934;
J.-M. Muller, *Elementary Functions*, third edition, 3.3), computed with mpmath at 60 digits. Its coefficients are then rounded to the type, on intervals that begin at 0 one after the other, after each of which what is
left is approximated anew by the powers that are left. That costs less than 0.01 ulp, because
the functions are written so that the terms that matter most (the 1 and the r of exp, the f and f**2/2 of log) are exact and stand in no table: lattice reduction
(Brisebarre and Chevillard, *Efficient polynomial L-infinity-approximations*, ARITH 18, 2007) has nothing to gain.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np

from tools.approximations import rows
from tools.remez import Approximation

TARGET = Path(__file__).resolve().parent.parent / "src" / "loopwright" / "elementary" / "coefficients.py"


def _text(name: str, approximation: Approximation) -> str:
    found, error = approximation.coefficients()
    numbers = ", ".join(float(c).hex() for c in found)
    bits = mp.nstr(-mp.log(error, 2), 4) if error else "all"
    return f"#: {approximation.doc}: {bits} bits.\n{name}: Final = _hex({', '.join(repr(n) for n in numbers.split(', '))})\n"


def _parts(value: Any, dtype: Any, count: int) -> str:
    """A number in words of a type, each of which is what those before leave."""
    words: list[str] = []
    for _ in range(count):
        word = float(dtype(float(value)))
        words.append(repr(word.hex()))
        value -= mp.mpf(word)
    return ", ".join(words)


def _constants() -> list[str]:
    """What is no polynomial."""
    bits = 1280
    with mp.workprec(2 * bits):
        digits = int(mp.floor(2 / mp.pi * mp.mpf(2) ** bits))
    lines = "".join(f'    "{part}"\n' for part in re.findall(".{1,80}", f"{digits:0{bits // 4}x}"))
    words = {"LN2": mp.log(2), "LN10": mp.log(10), "LOG10_2": mp.log10(2)}
    factors = {"TWO_LOG2_E": 2 / mp.log(2), "TWO_LOG10_E": 2 / mp.log(10)}
    single = {"LOG2_E_F32": ("log2(e)", 1 / mp.log(2)), "LOG10_E_F32": ("log10(e)", 1 / mp.log(10))}
    # (Of log10(2) the first word has 12 bits: its products with exponents are exact.)
    short = mp.floor(mp.log10(2) * 2**13) / 2**13
    return [
        *(f"#: {what} in words.\n{name}: Final = _hex({_parts(v, np.float32, 2)})\n" for name, (what, v) in single.items()),
        f"#: log10(2), the first word of 12 bits.\nSHORT_LOG10_2_F32: Final = _hex({float(short).hex()!r}, {_parts(mp.log10(2) - short, np.float32, 1)})\n",
        *(f"#: 2 / log({name[7:-2].lstrip('G')}) in words.\n{name}: Final = _hex({_parts(v, np.float64, 2)})\n" for name, v in factors.items()),
        *(
            f"#: {name} in words.\n{name}_F32: Final = _hex({_parts(v, np.float32, 2)})\n{name}_F64: Final = _hex({_parts(v, np.float64, 2)})\n"
            for name, v in words.items()
        ),
        f"#: pi/2 in words.\nPI_HALVES_F32: Final = _hex({_parts(mp.pi / 2, np.float32, 3)})\nPI_HALVES_F64: Final = _hex({_parts(mp.pi / 2, np.float64, 3)})\n",
        f"#: sqrt(2 pi / e) in words.\nROOT_TWO_PI_OVER_E: Final = _hex({_parts(mp.sqrt(2 * mp.pi / mp.e), np.float64, 2)})\n",
        f"#: The first {bits} bits of 2/pi behind the point.\nTWO_OVER_PI: Final = int(\n{lines}    ,\n    16,\n)\nTWO_OVER_PI_BITS: Final = {bits}\n",
    ]


HEAD = '''"""Coefficients of the elementary functions' polynomials, the constant first. Made by ``python -m tools.coefficients``; not to be edited.

Behind each is how many bits of what it stands for its largest error leaves.
"""

from __future__ import annotations

from typing import Final


def _hex(*numbers: str) -> tuple[float, ...]:
    return tuple([float.fromhex(number) for number in numbers])


'''


def main(names: list[str]) -> None:
    """Print the rows of these names, or write the file."""
    with mp.workdps(60):
        table = rows()
        if names:
            print("\n".join(_text(name, table[name]) for name in names))
        else:
            TARGET.write_text(HEAD + "\n".join([*(_text(name, approximation) for name, approximation in table.items()), *_constants()]))


if __name__ == "__main__":
    main(sys.argv[1:])
