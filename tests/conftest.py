"""What all tests share: ``--bless`` rewrites expected texts to what came out, ``--build`` makes certain which build is tested."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Generator, Iterator
from importlib.machinery import ExtensionFileLoader
from importlib.util import find_spec
from pathlib import Path

import pytest

import loopwright
from loopwright.native_build import is_native

#: Every allocation of every test is proved.
os.environ.setdefault("LOOPWRIGHT_PROVE", "1")
#: What is measured is kept nowhere, but where a test says so.
os.environ["LOOPWRIGHT_CACHE"] = ""

CHECKOUT = Path(__file__).resolve().parents[1]
SOURCES = CHECKOUT / "src" / "loopwright"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", default=False, help="rewrite the expected texts in tests/files to what comes out now")
    parser.addoption("--build", choices=["pure", "native"], help="refuse to run where another build of loopwright would be tested, or an old one")
    parser.addoption("--share", type=int, default=1, metavar="N", help="of the tests that are no long runs only each N-th (the other build runs all of them)")
    parser.addoption(
        "--exhaustive",
        action="store_true",
        default=False,
        help="try all numbers of f32 with the elementary functions, and simulate long C programs, for minutes each",
    )
    parser.addoption("--wheels", type=Path, metavar="DIR", help="where the wheels are that tests/test_wheels.py installs and tries (make test-wheels)")


def pytest_configure(config: pytest.Config) -> None:
    build = config.getoption("--build")
    why = not_the_build(build) if build else ""
    if why:
        raise pytest.UsageError(f"--build={build}: {why}")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    # There is nothing to try before wheels have been made, which takes a C compiler and a minute: a target of its own (make test-wheels).
    return True if collection_path.name == "test_wheels.py" and not config.getoption("--wheels") else None


#: Modules all of whose tests are marked ``every_change``: code as it was, random programs, C programs, branches and moves of every length, what assemblers make of every row, and commands as
#: a whole, which take more than half of the time of all tests in pure Python.
AT_LENGTH = frozenset(
    f"{folder}/{name}.py"
    for folder, names in {
        "corpus": "test_collections test_compare test_corpus test_shipped",
        "costs": "test_exact",
        "elementary": "test_accuracy",
        "end_to_end": "test_code_made test_division test_half_floats test_nesting test_one_array_twice test_random",
        "nests": "test_keyed_sums test_omega test_random_nests test_time_tiles",
        "programs": "test_library_system test_objects test_programs test_simulated test_structs",
        "random_kernels": "test_random_kernels",
        "regalloc": "test_faults test_fuzz",
        "search": "test_genetic test_orders",
        "targets": "test_boundaries test_conformance test_labels test_selection",
        "targets/aarch64": "test_abi test_assembler test_moves test_roles",
        "targets/multiclet": "test_compiler test_lacking",
        "targets/riscv": "test_assembler test_boundaries",
        "targets/x86": "test_abi",
        "vectors": "test_vectorize",
        ".": "test_capabilities",
    }.items()
    for name in names.split()
)


#: Of these, which try one random thing after the other, every change runs each second test only.
HALVED = frozenset(("costs/test_exact.py", "end_to_end/test_random.py", "nests/test_random_nests.py", "regalloc/test_fuzz.py"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # What every change must pass (on the native build, which is the faster one) is a long run otherwise. Before tests are chosen by their marks.
    here = Path(__file__).parent
    # (One that is named on the command line is wanted.)
    modules = {here / name for name in AT_LENGTH} - {(config.invocation_params.dir / argument.partition("::")[0]).resolve() for argument in config.args}
    halved = {here / name for name in HALVED}
    left_out = False
    for item in items:
        if item.path in modules:
            left_out = item.path in halved and hasattr(item, "callspec") and not left_out
            item.add_marker(pytest.mark.slow if left_out else pytest.mark.every_change)
        if item.get_closest_marker("every_change") is not None:
            item.add_marker(pytest.mark.slow)
    # (Long ones first, so that at the end of a run all processes have something to do.)
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    share = config.getoption("--share")
    if share > 1:
        short = [item for item in items if item.get_closest_marker("slow") is None]
        left = set(short) - set(short[::share])
        items[:] = [item for item in items if item not in left]
        config.hook.pytest_deselected(items=list(left))


def pytest_report_header() -> str:
    return f"loopwright: {'native build' if is_native() else 'pure Python'}, {Path(loopwright.__file__).parent}"


def not_the_build(build: str) -> str:
    """Why what is imported is not this build of this checkout's sources, or ""."""
    package = Path(loopwright.__file__).resolve().parent
    if build == "pure":
        return "" if package == SOURCES else f"loopwright is imported from {package}"
    for file in runpy.run_path(str(CHECKOUT / "setup.py"))["core_files"]():
        name = ".".join(Path(file).relative_to("src").with_suffix("").parts).removesuffix(".__init__")
        spec = find_spec(name)
        if spec is None or not isinstance(spec.loader, ExtensionFileLoader):
            return f"{name} is not compiled"
    for source in SOURCES.rglob("*.py"):
        copied = package / source.relative_to(SOURCES)
        if not copied.is_file() or copied.read_bytes() != source.read_bytes():
            return f"{copied} is not what is in {SOURCES}: make native"
    return ""


@pytest.fixture(autouse=True)
def _same_path() -> Iterator[None]:
    """What a test adds to the import path (the command line puts a kernel's folder first) must not be found by those after it."""
    before = [*sys.path]
    yield
    if sys.path != before:
        sys.path[:] = before


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, object, object]:
    """What a test has left to run under an emulator (``tests/machines.py``) runs at its end, in one program."""
    machines = sys.modules.get("tests.machines")
    try:
        done = yield
    except BaseException:
        if machines is not None:
            machines.forget()
        raise
    if machines is not None:
        machines.finish()
    return done


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    """Whether expected texts are to be rewritten instead of compared."""
    return bool(request.config.getoption("--bless"))
