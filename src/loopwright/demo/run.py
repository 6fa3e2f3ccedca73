"""The demo's driver: compile, check, time, list, and write the pictures."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.polynomial.polynomial import polyval
from numpy.typing import NDArray
from scipy import ndimage

from loopwright.demo import kernels, photograph
from loopwright.demo.inner_loops import inner_loops
from loopwright.errors import LoopwrightError

__all__ = ["Job", "Outcome", "jobs", "main"]

#: y = 3 x² - 2 x³, lowest power first: darker shadows, brighter lights, black and white stay.
CONTRAST = (0.0, 0.0, 3.0, -2.0)
WINDOW = 13

Floats = NDArray[np.float32]


class Job:
    """One kernel with what it is run on and who judges it.

    Attributes:
        name, peer: for the table.
        file: for the picture's file name.
        reach: how many pixels the kernel's source is larger than the picture on every side.
        kernel: the function under @lw.kernel.
        arguments: from one plane of the source and one of the result to the kernel's arguments.
        constants: the kernel's compile-time constants.
        judge: the same from NumPy or SciPy, of one plane of the picture.
        tolerance: greatest difference from the judge; 0 where both must be equal.
    """

    __slots__ = ("arguments", "constants", "file", "judge", "kernel", "name", "peer", "reach", "tolerance")

    def __init__(
        self,
        name: str,
        peer: str,
        file: str,
        reach: int,
        kernel: Any,
        arguments: Callable[[Floats, Floats], tuple[Floats, ...]],
        constants: dict[str, object],
        judge: Callable[[Floats], Floats],
        tolerance: float,
    ) -> None:
        self.name = name
        self.peer = peer
        self.file = file
        self.reach = reach
        self.kernel = kernel
        self.arguments = arguments
        self.constants = constants
        self.judge = judge
        self.tolerance = tolerance


def padded(planes: Floats, reach: int) -> Floats:
    """The picture with its edge repeated ``reach`` times on every side, so that every window lies inside."""
    return np.pad(planes, ((0, 0), (reach, reach), (reach, reach)), mode="edge") if reach else planes


def jobs(width: int) -> list[Job]:
    """The demo's three kernels for pictures ``width`` pixels wide."""
    line = np.empty(width + WINDOW - 1, np.float32)
    coefficients = np.array(CONTRAST, np.float32)
    return [
        Job(
            "3x3 box blur",
            "scipy.ndimage.uniform_filter",
            "blur",
            1,
            kernels.blur,
            lambda source, result: (source, result),
            {},
            lambda plane: ndimage.uniform_filter(plane, 3, mode="nearest"),
            1e-6,  # SciPy sums in f64 and rounds once; nine roundings of values up to 1 in f32 come to less than this
        ),
        Job(
            "tone curve, degree 3",
            "numpy polyval",
            "curve",
            0,
            kernels.curve,
            lambda source, result: (source, result),
            {"coeffs": CONTRAST},
            lambda plane: polyval(plane, coefficients),
            1e-6,
        ),
        Job(
            f"{WINDOW}x{WINDOW} max filter",
            "scipy.ndimage.maximum_filter",
            "max",
            WINDOW // 2,
            kernels.largest,
            lambda source, result: (source, line, result),
            {"size": WINDOW},
            lambda plane: ndimage.maximum_filter(plane, WINDOW, mode="nearest"),
            0.0,
        ),
    ]


def seconds(run: Callable[[], object], budget: float = 0.25) -> float:
    """Median time of one call, over as many calls as fit the budget (at least 3)."""
    run()
    times: list[float] = []
    end = time.perf_counter() + budget
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 1001):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]


class Outcome:
    """What came of a job: the code, the picture it made, how far that is from the judge's, and seconds spent."""

    __slots__ = ("code", "compiling", "difference", "judging", "padding", "result", "running")

    def __init__(self, job: Job, planes: Floats, options: dict[str, Any]) -> None:
        source = padded(planes, job.reach)
        self.result = np.empty_like(planes)
        arguments = [job.arguments(from_, to) for from_, to in zip(source, self.result, strict=True)]

        start = time.perf_counter()
        code = job.kernel.compile(*arguments[0], **job.constants, **options)
        self.compiling = time.perf_counter() - start
        self.code = code

        def run() -> None:
            for each in arguments:
                code(*each)

        def judge() -> list[Floats]:
            return [job.judge(plane) for plane in planes]

        run()
        self.difference = float(np.max(np.abs(self.result - judge())))
        self.running = seconds(run)
        self.padding = seconds(lambda: padded(planes, job.reach)) if job.reach else 0.0
        self.judging = seconds(judge)


def milliseconds(time: float) -> str:
    """As the table shows it."""
    return f"{time * 1e3:.2f} ms"


def show_loops(job: Job, outcome: Outcome) -> None:
    """Print the innermost loops of a job's code, after the lines of Python they come from."""
    code = outcome.code
    lines: dict[int, str] = code.compiled.source.lines
    for loop in inner_loops(code.compiled.listing()):
        shown = 0
        print(f"\n{job.name}: {len(loop)} instructions, {sum(len(data) for _, data, _, _ in loop)} bytes")
        for offset, data, text, line in loop:
            if line and line != shown:
                shown = line
                print(f"  ; {line}: {lines.get(line, '').strip()}")
            print(f"  {offset:4x}  {data.hex(' '):33} {text}")


def main(picture: Path | None, output: Path, target: str | None = None, vector_bits: int | None = None, listings: bool = True) -> int:
    """Run the demo; the exit status is 1 when a result differs from its judge's."""
    path = picture if picture is not None else photograph.bundled()
    planes = photograph.read(path)
    count, height, width = planes.shape
    options = {key: value for key, value in (("target", target), ("vector_bits", vector_bits)) if value is not None}
    todo = jobs(width)
    # The first compilation of a process also loads the compiler; it is not what the next thousand kernels take.
    todo[0].kernel.compile(*todo[0].arguments(planes[0], planes[0]), **todo[0].constants, **options)
    outcomes = [Outcome(job, planes, options) for job in todo]
    try:
        output.mkdir(parents=True, exist_ok=True)
        photograph.write(planes, output / "before.png")
        for job, outcome in zip(todo, outcomes, strict=True):
            photograph.write(outcome.result, output / f"after-{job.file}.png")
    except OSError as reason:
        raise LoopwrightError(f"cannot write pictures to {output}: {reason}") from reason

    if listings:
        for job, outcome in zip(todo, outcomes, strict=True):
            show_loops(job, outcome)
        print()
    print(f"{path.name}: {width} x {height} pixels, {count} plane{'s' if count > 1 else ''} of f32, on {outcomes[0].code.target.name}\n")
    print(f"{'':22}{'compile':>11}{'run':>11}{'+ padding':>11}   {'judge':30}{'run':>11}{'judge/run':>11}   greatest difference")
    wrong = 0
    for job, outcome in zip(todo, outcomes, strict=True):
        right = outcome.difference <= job.tolerance
        wrong += not right
        verdict = f"{outcome.difference:.1e}, allowed {job.tolerance:.0e}" if job.tolerance else f"{outcome.difference:.1e}, must be equal"
        print(
            f"{job.name:22}{milliseconds(outcome.compiling):>11}{milliseconds(outcome.running):>11}{milliseconds(outcome.running + outcome.padding):>11}   "
            f"{job.peer:30}{milliseconds(outcome.judging):>11}{outcome.judging / (outcome.running + outcome.padding):>10.1f}x   {verdict}: {'right' if right else 'WRONG'}"
        )
    print("\nThe filters read a picture padded by its edge, which NumPy makes ('+ padding', counted in the ratio); SciPy's treat the edge themselves.")
    print(f"Pictures before and after: {output}/before.png, {', '.join(f'after-{job.file}.png' for job in todo)}")
    return 1 if wrong else 0
