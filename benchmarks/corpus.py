"""How long do 1,000 contexts of the corpora take to replay, and to compile two ways and compare?

python -m benchmarks.corpus [--quick]
"""

from __future__ import annotations

import sys
import time

from benchmarks import report

TARGET = 60.0
COUNT = 1000
PROCESSES = 2

#: An order that differs from the default where it matters (RyuJIT's best for the libraries on x64 under Linux).
ORDER = "HDGAECNIPLBOFKJMQ"


def run(quick: bool = False) -> report.Result:
    """Replay and compare, each in its own processes that are started for it."""
    from loopwright.tuning import collections, compare, corpus, replay

    result = report.Result("corpus")
    contexts = [context for name in collections.NAMES for context in corpus.read(collections.shipped(name)).contexts]
    # Evenly from both: every target, width and shape is in it.
    count = 100 if quick else COUNT
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
    table = report.Table(f"{count} contexts in {PROCESSES} processes", ["what", "s", "ms per context"])
    for what, seconds in (
        ("replay", alone),
        ("replay, each allocation proved", checked),
        ("diff of two orders, with reports and listings", difference),
        ("replay and diff", alone + difference),
    ):
        table.rows.append([what, f"{seconds:.1f}", f"{seconds / count * 1e3:.2f}"])
    result.tables.append(table)
    result.notes.append(f"{instructions} instructions, {failed} contexts failed, {proved} allocations proved")
    result.data = {"contexts": count, "replay": alone, "proved": checked, "diff": difference, "failed": failed, "instructions": instructions}
    why = "with fewer contexts than the figure is about" if quick else ""
    seconds = None if quick else alone + difference
    result.verdicts.append(report.Verdict(f"replay and diff of {COUNT} contexts on two cores", seconds, TARGET, "s", why=why))
    return result


if __name__ == "__main__":
    sys.exit(report.main(run, __doc__ or ""))
