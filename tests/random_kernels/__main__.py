"""Compare many random kernels: ``python -m tests.random_kernels --count 10000 --jobs 2``."""

from __future__ import annotations

import argparse
import os
import sys

from tests.random_kernels import coverage
from tests.random_kernels.kernels import make
from tests.random_kernels.reduce import reduced, verdict
from tests.random_kernels.runs import timed

#: How many of those that did not occur are named.
_SHOWN = 20


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.random_kernels", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="kernels to compare")
    parser.add_argument("--seed", type=int, default=0, help="of the first; the others follow")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--reduce", type=int, default=3, metavar="N", help="make so many of those that differ as small as they get")
    parser.add_argument("--show", action="store_true", help="print the kernels instead")
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.count)
    if options.show:
        for seed in seeds:
            print(make(seed).text())
        return 0
    # Every allocation is proved besides.
    os.environ.setdefault("LOOPWRIGHT_PROVE", "1")
    outcome, seconds = timed(seeds, options.jobs)
    print(coverage.table(outcome.counts))
    missing = [key for key in coverage.expected() if not outcome.counts[key]]
    some = ", ".join([" ".join(filter(None, key)) for key in missing[:_SHOWN]])
    print(f"\n{len(missing)} of {len(coverage.expected())} expected and not met{': ' if some else ''}{some}{', …' if len(missing) > _SHOWN else ''}")
    print("\ntarget                 kernels   not run")
    for target in sorted(outcome.ran):
        print(f"{target:20} {outcome.ran[target]:9} {outcome.kernels - outcome.ran[target]:9}")
    different = sorted({found.seed for found in outcome.found})
    for seed in different:
        mine = [found.difference for found in outcome.found if found.seed == seed]
        print(f"\nkernel {seed}: {', '.join([f'{d.what} on {d.target}' for d in mine])}")
        print(mine[0].text)
    for seed in different[: options.reduce]:
        target = next(found.difference.target for found in outcome.found if found.seed == seed)
        small = reduced(make(seed), target)
        found = verdict(small, target) if target != "some target" else None
        print(f"\nkernel {seed} as small as it gets, on {target}:\n{small.text()}\n{found.text if found is not None else ''}")
    print(f"\n{outcome.kernels} kernels in {seconds / 60:.1f} minutes, {len(different)} different")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
