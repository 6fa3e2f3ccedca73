"""The optional native build: with LOOPWRIGHT_MYPYC=1 in the environment, mypyc compiles the compiler's core to C. And the corpora.

Everything else about the package is in pyproject.toml. Without the variable (the default) the package is pure Python.
The core is compiled as one group, so that calls between its modules are C calls.
"""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

#: What is compiled: the way from a function of the IR to machine code. Relative to src/loopwright; folders with all below them.
CORE = ("types.py", "ir", "passes", "nests", "pipelining", "vectors", "regalloc", "targets", "compiler.py")

#: And, of the front end, what stages a kernel: each statement and operator of every compilation. The rest reads source, or stands outside of compilations.
STAGING = (
    "arrays",
    "assigning",
    "calls",
    "conditions",
    "constants",
    "containers",
    "elements",
    "emitter",
    "expr",
    "flow",
    "instructions",
    "lanes",
    "looping",
    "matching",
    "merging",
    "mixed_signs",
    "named",
    "program",
    "promotion",
    "results",
    "stage",
    "staging",
    "state",
    "statements",
    "steps",
    "tables",
    "variables",
    "views",
    "walks",
)

#: Left to the interpreter: what no compilation runs.
LEFT_OUT = (
    "ir/interpret.py",
    *(
        f"ir/interpreter/{name}.py"
        for name in (
            "accesses",
            "actions",
            "activation",
            "addresses",
            "arguments",
            "calls",
            "errors",
            "pointers",
            "preparation",
            "registers",
            "scattered",
            "steps",
            "values",
        )
    ),
    "ir/memory_model.py",
    "ir/heap.py",
    "ir/c_types.py",
    "pipelining/simulator.py",
    "pipelining/walks.py",
    *(
        f"targets/multiclet/{name}.py"
        for name in (
            "assembler",
            "bits",
            "bounds",
            "command",
            "cycles",
            "directives",
            "picture",
            "profile",
            "services",
            "shape",
            "simulator",
            "specialise",
            "timing",
            "words",
        )
    ),
)


#: For the C compiler, on Linux. Names of the core's own are bound when it is linked, not through tables as it runs: 6 % of the time of a compilation.
FLAGS = ("-fvisibility=hidden", "-fno-plt")
NATIVE = Path(__file__).resolve().parent / "native"
#: And ways out for exceptions, a third of mypyc's code, stand apart from what runs.
ERROR_PATHS = ("-include", str(NATIVE / "error_paths.h"))
#: What LOOPWRIGHT_PROFILE asks for, of gcc: code that counts, as it is used, what of it runs how often (into files beside its objects); or code made by those counts.
#: What has not run meanwhile is compiled as it is without.
PROFILES = {
    "": (),
    "make": ("-fprofile-generate", "-fprofile-update=single"),
    "use": ("-fprofile-use", "-fprofile-partial-training", "-w"),
}
#: Shorter ways for what the core does most with integers, lists and bytes, in the files that are of modules.
SHORTCUTS = ("-include", str(NATIVE / "shortcuts.h"))


def core_files() -> list[str]:
    """The files of the core relative to this folder, in a fixed order."""
    here = Path(__file__).resolve().parent
    root = here / "src" / "loopwright"
    found: list[Path] = []
    for entry in (*CORE, *(f"frontend/{name}.py" for name in STAGING)):
        path = root / entry
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    left_out = {root / entry for entry in LEFT_OUT}
    return [path.relative_to(here).as_posix() for path in found if path not in left_out and path.stat().st_size]


class WithCorpora(build_py):
    """Puts the corpora beside the module that looks for them; a checkout has them in a folder of their own."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            folder = Path(self.build_lib) / "loopwright" / "corpus" / "corpora"
            self.mkpath(str(folder))
            for corpus in sorted(Path("corpora").glob("*.lwc")):
                self.copy_file(str(corpus), str(folder / corpus.name))


def with_shortcuts(made: str, source: str, extension: str, first: list[str], last: list[str], macros: list[str]) -> tuple[Any, ...]:
    """What setuptools compiles a file with; of a file that mypyc has made of a module, with the shortcuts."""
    told = sys.platform == "linux" and ERROR_PATHS[1] in last and Path(source).name.startswith("__native")
    return made, source, extension, first, [*last, *SHORTCUTS] if told else last, macros


class ParallelBuild(build_ext):
    """Builds extensions, and compiles the C files of one, side by side; setuptools would take one after the other."""

    def build_extensions(self) -> None:
        compiler: Any = self.compiler
        one, all_of_them = compiler._compile, compiler.compile
        # Each extension is built on a thread of its own, which has its own files compiled.
        own = threading.local()
        cores = os.cpu_count() or 1
        self.parallel = cores
        with ThreadPoolExecutor(cores) as pool:

            def compile(sources: list[str], *args: Any, **options: Any) -> Any:
                own.running = []
                # (A file that is an extension by itself, as hundreds are, does not wait for those of the large one.)
                own.several = len(sources) > 1
                objects = all_of_them(sources, *args, **options)
                for each in own.running:
                    each.result()
                return objects

            def compile_file(*each: Any) -> None:
                if own.several:
                    own.running.append(pool.submit(one, *with_shortcuts(*each)))
                else:
                    one(*with_shortcuts(*each))

            compiler.compile, compiler._compile = compile, compile_file
            super().build_extensions()


def extensions() -> list[Any]:
    """The extension modules of the native build; none for pure Python."""
    if os.environ.get("LOOPWRIGHT_MYPYC") != "1":
        return []
    from mypyc.build import mypycify

    made = mypycify(core_files(), opt_level="2", debug_level="0", multi_file=True, group_name="loopwright")
    if sys.platform == "linux":
        profile = PROFILES[os.environ.get("LOOPWRIGHT_PROFILE", "")]
        for extension in made:
            # (Modules that only lead to the one with the code know nothing of mypyc's headers.)
            extension.extra_compile_args = [*extension.extra_compile_args, *FLAGS, *profile, *(ERROR_PATHS if extension.include_dirs else ())]
            extension.extra_link_args = [*extension.extra_link_args, *profile[:1]]
    return made


# The tests read the list of files.
if __name__ == "__main__":
    setup(ext_modules=extensions(), cmdclass={"build_py": WithCorpora, "build_ext": ParallelBuild})
