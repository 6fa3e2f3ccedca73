"""Copy the tables of the last full ``make bench`` between their markers: python docs/put_figures.py [FOLDER]

The table of targets goes to the README, all others to docs/figures.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]

#: (file of the benchmarks' output, page it goes to, name of the markers around it).
PLACES = (("targets.md", "README.md", "targets"), ("figures.md", "docs/figures.md", "figures"))


def put(page: str, name: str, figures: str) -> str:
    """A page with the figures in place of those that stood between its markers ``<!-- name -->`` and ``<!-- /name -->``."""
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"the page lacks the markers {begin.strip()} and {end}")
    return f"{before}{begin}{figures.strip()}\n{end}{after}"


def main(output: Path, checkout: Path = CHECKOUT) -> None:
    """Put everything, or nothing where something is missing."""
    made: dict[Path, str] = {}
    for source, page, name in PLACES:
        if not (output / source).is_file():
            raise SystemExit(f"there is no {output / source}: run make bench first, all of it")
        made[checkout / page] = put((checkout / page).read_text(encoding="utf-8"), name, (output / source).read_text(encoding="utf-8"))
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else CHECKOUT / "bench-output")
