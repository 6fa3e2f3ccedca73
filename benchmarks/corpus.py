"""How long do 1,000 contexts of the corpora take to replay, and to compile two ways and compare?

python -m benchmarks.corpus [--quick]
"""

from __future__ import annotations

import sys
import time

from benchmarks import builds, report

TARGET = 60.0
COUNT = 1000
PROCESSES = 2

#: An order that differs from the default where it matters (RyuJIT's best for the libraries on x64 under Linux).
ORDER = "HDGAECNIPLBOFKJMQ"


def durations(count: int) -> dict[str, float]:
    """Seconds for replaying and comparing ``count`` contexts, each in its own processes that are started for it, and what came of it."""
    from loopwright.corpus import collections, compare, files, replay

    contexts = [context for name in collections.NAMES for context in files.read(collections.shipped(name)).contexts]
    # Evenly from both: every target, width and shape is in it.
    chosen = [contexts[k * len(contexts) // count] for k in range(count)]
    start = time.perf_counter()
    failed = sum(bool(found.error) for _, found in replay.replay(chosen, processes=PROCESSES))
    alone = time.perf_counter() - start
    start = time.perf_counter()
    proved = sum(not found.error for _, found in replay.replay(chosen, processes=PROCESSES, check=True))
    checked = time.perf_counter() - start
    start = time.perf_counter()
    made = compare.compare(chosen, replay.Setting(), replay.Setting(ordering=ORDER), processes=PROCESSES)
    largest = made.largest("spill_weight", 5)
    made.add_listings(largest, PROCESSES)
    made.markdown(largest)
    made.json(largest)
    difference = time.perf_counter() - start
    instructions = sum(int(pair.base.numbers["instructions"] or 0) for pair in made.pairs if not pair.failed)
    return {"replay": alone, "checked": checked, "diff": difference, "failed": failed, "proved": proved, "instructions": instructions}


def run(quick: bool = False) -> report.Result:
    """Measure this build, and the pure-Python one beside the native."""
    result = report.Result("corpus")
    count = 100 if quick else COUNT
    found = {builds.here(): durations(count)}
    if builds.here() == builds.NATIVE:
        with builds.Worker(builds.PURE) as worker:
            found[builds.PURE] = worker.call("benchmarks.corpus:durations", count)
    heads = [head for build in found for head in (f"{build}, s", "ms per context")]
    table = report.Table(f"{count} contexts in {PROCESSES} processes", ["what", *heads])
    for what, parts in (
        ("replay", ["replay"]),
        ("replay, each allocation proved", ["checked"]),
        ("diff of two orders, with reports and listings", ["diff"]),
        ("replay and diff", ["replay", "diff"]),
    ):
        seconds = [sum(each[part] for part in parts) for each in found.values()]
        table.rows.append([what, *(cell for s in seconds for cell in (f"{s:.1f}", f"{s / count * 1e3:.2f}"))])
    result.tables.append(table)
    ours = found[builds.here()]
    result.notes.append(f"{ours['instructions']:g} instructions, {ours['failed']:g} contexts failed, {ours['proved']:g} allocations proved")
    result.data = {"contexts": count, **found}
    why = "with fewer contexts than the figure is about" if quick else ""
    totals = [each["replay"] + each["diff"] for each in found.values()]
    figure = f"replay and diff of {COUNT} contexts on two cores"
    pure = totals[1] if len(totals) > 1 and not quick else None
    result.verdicts.append(report.Verdict(figure, None if quick else totals[0], TARGET, "s", why=why, pure=pure))
    return result


if __name__ == "__main__":
    sys.exit(report.main(run, __doc__ or ""))
