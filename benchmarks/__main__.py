"""``loopwright bench``: run benchmarks by name, or all of them."""

from __future__ import annotations

import importlib
import sys

from benchmarks import report

#: In the order in which they are reported.
NAMES = (
    "runtime",
    "compile",
    "imports",
    "first_kernel",
    "calls",
    "corpus",
    "allocator",
    "spills",
    "codegen",
    "perfscore",
    "instructions",
    "nests",
    "plain_loops",
    "c_loops",
    "lanes",
    "operations",
    "pipelining",
    "planning",
    "elementary",
    "multiclet",
    "multiclet_c",
    "programs",
    "c_spills",
    "c_instructions",
)


def main() -> int:
    """Run the benchmarks named; with all of them, also write the tables for the documentation."""
    parser = report.options("Measure loopwright beside its peers: NumPy, Numba, LLVM through llvmlite, gcc.")
    parser.prog = "loopwright bench"
    parser.add_argument("names", nargs="*", metavar="NAME", default=["all"], help=f"{', '.join(NAMES)}, or all (the default)")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in (*NAMES, "all"):
            parser.error(f"there is no benchmark '{name}'; there are {', '.join(NAMES)}, and all")
    chosen = NAMES if "all" in arguments.names else tuple(name for name in NAMES if name in arguments.names)
    results: list[report.Result] = []
    for name in chosen:
        print(f"=== {name}", flush=True)
        result: report.Result = importlib.import_module(f"benchmarks.{name}").run(arguments.quick)
        report.show(result)
        report.save(result, arguments.output, arguments.quick)
        results.append(result)
    if len(chosen) > 1:
        print(report.verdict_table([v for result in results for v in result.verdicts]).text())
    if chosen == NAMES:
        (arguments.output / "targets.md").write_text(report.targets_markdown(results))
        (arguments.output / "figures.md").write_text(report.tables_markdown(results))
        print(f"\nthe tables as Markdown, for python docs/put_figures.py: targets.md and figures.md in {arguments.output}")
    return int(arguments.strict and report.failed(results))


if __name__ == "__main__":
    sys.exit(main())
