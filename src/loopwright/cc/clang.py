"""clang as the front end: from files of C to one module of LLVM IR."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from loopwright.errors import ArgumentError, LoopwrightError
from loopwright.frontend.llvm.bitcode import try_bitcode

__all__ = ["FIXED", "Options", "bitcode", "find", "has_headers", "local_names", "package", "weak_names"]

#: The names clang has, the newest first.
_NAMES: Final = ("clang", *(f"clang-{version}" for version in range(22, 13, -1)))
#: Of the code: vectors are not read; a function for each mathematical one is not wanted where the machine has an instruction; tables of addresses hold addresses, not distances.
#: Of LLVM's passes: loops are to go on one iteration at a time, and load what they need in each, so that it shows which may become lanes.
FIXED: Final = (
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-fno-math-errno",
    "-fno-stack-protector",
    "-fno-pic",
    *(word for option in ("-unroll-runtime=false", "-unroll-allow-partial=false", "-enable-load-in-loop-pre=false") for word in ("-mllvm", option)),
)

#: What Debian calls an architecture, where that is something else.
_DEBIAN: Final = {"aarch64": "arm64", "x86_64": "amd64"}


class Options:
    """What clang is told.

    Attributes:
        triple: clang's name for the machine whose headers, types and conventions the program is read with, or "" for this one.
        level: of optimisation: 0 to 3, s.
        debug: with lines of the source.
        preprocessor: -I, -D and the like, as clang takes them.
    """

    def __init__(self, level: str = "2", debug: bool = False, preprocessor: Sequence[str] = (), triple: str = "") -> None:
        self.triple = triple
        self.level = level
        self.debug = debug
        self.preprocessor = list(preprocessor)


def find() -> str:
    """The path of clang. Raises ``LoopwrightError`` where there is none."""
    for name in _NAMES:
        found = shutil.which(name)
        if found:
            return found
    raise LoopwrightError("C is read by clang, which is not installed: `apt-get install clang` on Debian and Ubuntu")


def has_headers(triple: str) -> bool:
    """Whether there is a C library of another machine here, where Debian's packages put it."""
    return Path(f"/usr/{triple}/include/stdio.h").is_file()


def package(triple: str) -> str:
    """The Debian package with the C library of a machine."""
    architecture = triple.partition("-")[0]
    return f"libc6-dev-{_DEBIAN.get(architecture, architecture)}-cross"


def bitcode(files: Sequence[Path], options: Options) -> bytes:
    """Files of C (or of LLVM IR, by .ll or .bc) as one module of bitcode.

    Raises:
        LoopwrightError: there is no clang, or it refuses a file: with what it says.
        ArgumentError: a file is not there.
    """
    clang = find()
    parts: list[bytes] = []
    for file in files:
        if not file.is_file():
            raise ArgumentError(f"there is no file {file}")
        parts.append(_read(file) if file.suffix in (".ll", ".bc") else _compiled(clang, file, options))
    return _linked(parts, files)


def _read(file: Path) -> bytes:
    part = file.read_bytes()
    if file.suffix == ".bc":
        try_bitcode(part, str(file))
    return part


def _compiled(clang: str, file: Path, options: Options) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made.bc"
        words = [clang, f"-O{options.level}", *FIXED, *options.preprocessor, "-c", "-emit-llvm", str(file), "-o", str(made)]
        if options.debug:
            words.append("-g")
        if options.triple:
            words.append(f"--target={options.triple}")
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            hint = (
                f"\n(The C library of {options.triple} is not here: Debian package {package(options.triple)}.)"
                if options.triple and not has_headers(options.triple)
                else ""
            )
            raise LoopwrightError(f"clang refuses {file}:\n{done.stderr.strip()}{hint}")
        if not made.is_file():
            # clang leaves to the linker what it does not know by the end of its name.
            raise ArgumentError(f"clang does not take {file} for a file of C: its name should end in .c (or in .ll or .bc, if it is LLVM IR)")
        return made.read_bytes()


def _linked(parts: list[bytes], files: Sequence[Path]) -> bytes:
    try:
        binding: Any = importlib.import_module("llvmlite.binding")
    except ImportError:
        raise ArgumentError("LLVM IR is read by way of the package llvmlite, which is not installed: pip install loopwright[llvm]") from None
    whole: Any = None
    for part, file in zip(parts, files, strict=True):
        try:
            read = binding.parse_assembly(part.decode()) if file.suffix == ".ll" else binding.parse_bitcode(part)
            if whole is None:
                whole = read
            else:
                whole.link_in(read)
        except (RuntimeError, UnicodeDecodeError) as reason:
            raise LoopwrightError(f"{file} does not go with the others: {str(reason).strip()}") from None
    made: bytes = whole.as_bitcode()
    return made


#: What LLVM calls it where another object's symbol goes before.
_WEAK: Final = frozenset(("weak_any", "weak_odr", "linkonce_any", "linkonce_odr", "linkonce_odr_autohide", "external_weak", "available_externally"))


def weak_names(module: bytes) -> list[str]:
    """The functions and variables of a module of bitcode that give way to others of the same name, or that may be nowhere: C's weak ones, and inline ones."""
    binding: Any = importlib.import_module("llvmlite.binding")
    read = binding.parse_bitcode(module)
    return [each.name for each in (*read.functions, *read.global_variables) if each.linkage.name in _WEAK]


def local_names(module: bytes) -> list[str]:
    """The functions and variables of a module of bitcode that others do not see: C's static ones, and strings."""
    binding: Any = importlib.import_module("llvmlite.binding")
    read = binding.parse_bitcode(module)
    return [each.name for each in (*read.functions, *read.global_variables) if each.linkage.name in ("internal", "private")]
