"""Run a sample of faults, and say how many of them the tests notice."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import threading
import time
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.mutation.faults import Fault, sample
from tests.mutation.judge import REACHES, TEST_LIMIT, Judge, Verdict
from tests.mutation.judgements import equivalents, key, survivors
from tests.mutation.recording import Recording, record

CHECKOUT = Path(__file__).resolve().parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="how many faults")
    parser.add_argument("--seed", type=int, default=1, help="which sample")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument(
        "--reach",
        choices=REACHES,
        default="usual",
        help="the tests a fault is tried on: those nearest to it, those usual for all (the default), or the whole suite",
    )
    parser.add_argument("--limit", type=int, default=TEST_LIMIT, help="seconds that one test may take; more on a busy machine")
    parser.add_argument("--only", default="", help="only faults in files whose path contains this")
    parser.add_argument("--again", action="store_true", help="of the results there are, judge once more those that survived")
    parser.add_argument("--at-least", type=float, default=0.92, help="the share that must be noticed, of the faults that change something")
    parser.add_argument("--results", type=Path, default=CHECKOUT / "mutation-output" / "results.jsonl", help="where results go, and are gone on from")
    parser.add_argument(
        "--recorded",
        type=Path,
        default=CHECKOUT / "mutation-output" / "recorded",
        help="what is known of which tests run which functions; found out first if there is none",
    )
    args = parser.parse_args()
    args.results.parent.mkdir(parents=True, exist_ok=True)
    faults = [fault for fault in sample(CHECKOUT, args.count, args.seed) if args.only in fault.path]
    known = _known(args.results)
    if args.again:
        judged = equivalents()
        known = {k: row for k, row in known.items() if row["noticed"] or k in judged}
    todo = [fault for fault in faults if key(fault) not in known]
    print(f"{len(faults)} faults, {len(todo)} of them to be tried", flush=True)
    if todo:
        if not any(args.recorded.glob("*.json")):
            print("recording which tests run which functions", flush=True)
            record(CHECKOUT, args.recorded, args.jobs)
        with tempfile.TemporaryDirectory(prefix="loopwright-mutation-") as scratch:
            _try(todo, Path(scratch), args, known)
    return _report(faults, known, args.at_least)


def _known(results: Path) -> dict[str, dict[str, Any]]:
    if not results.exists():
        return {}
    rows = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    return {row["key"]: row for row in rows}


def _try(todo: list[Fault], scratch: Path, args: argparse.Namespace, known: dict[str, dict[str, Any]]) -> None:
    waiting = list(reversed(todo))
    recording = Recording(args.recorded)
    lock = threading.Lock()
    start = time.monotonic()

    def work(number: int) -> None:
        judge = Judge(CHECKOUT, scratch / str(number), recording, args.reach, args.limit)
        while True:
            with lock:
                if not waiting:
                    return
                fault = waiting.pop()
            _note(fault, judge.judge(fault))
        shutil.rmtree(judge.place)

    def _note(fault: Fault, verdict: Verdict) -> None:
        row = {"key": key(fault), "line": fault.line, **asdict(verdict)}
        with lock:
            known[row["key"]] = row
            with args.results.open("a", encoding="utf-8") as out:
                out.write(json.dumps(row) + "\n")
            done = len(todo) - len(waiting)
            print(
                f"{done:4} {time.monotonic() - start:6.0f} s  {'noticed ' if verdict.noticed else 'SURVIVED'} {fault.path}:{fault.line}  {verdict.by}",
                flush=True,
            )

    workers = [threading.Thread(target=work, args=(number,)) for number in range(args.jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def _report(faults: list[Fault], known: dict[str, dict[str, Any]], at_least: float) -> int:
    same, excused = equivalents(), survivors()
    by_folder: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    left: list[Fault] = []
    for fault in faults:
        row = known[key(fault)]
        counts = by_folder[Path(fault.path).parts[2]]
        if row["noticed"]:
            counts[0] += 1
        elif key(fault) in same:
            counts[1] += 1
        else:
            counts[2] += 1
            left.append(fault)
    print("\nfolder       noticed  change nothing  survive")
    for folder, (noticed, equal, alive) in sorted(by_folder.items()):
        print(f"{folder:12} {noticed:7} {equal:15} {alive:8}")
    noticed, equal, alive = (sum(counts[k] for counts in by_folder.values()) for k in range(3))
    share = noticed / (noticed + alive) if noticed + alive else 1.0
    for fault in left:
        print(f"\n{fault.path}:{fault.line} ({fault.operator})\n  - {fault.before}\n  + {fault.after}\n  {excused.get(key(fault), 'not looked at yet')}")
    print(f"\n{noticed} of {noticed + alive} faults that change something were noticed: {share:.1%}; {equal} change nothing")
    return 0 if share >= at_least else 1


if __name__ == "__main__":
    sys.exit(main())
