"""Copy the tables of the last full `make bench` between the README's figures markers: python docs/put_figures.py [FIGURES.md]"""

from __future__ import annotations

import sys
from pathlib import Path

BEGIN = "<!-- figures -->\n"
END = "<!-- /figures -->"
CHECKOUT = Path(__file__).resolve().parents[1]


def put(readme: str, figures: str) -> str:
    """The README with the figures in place of those it had."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"README.md lacks the markers {BEGIN.strip()} and {END}")
    return f"{before}{BEGIN}{figures.strip()}\n{END}{after}"


if __name__ == "__main__":
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else CHECKOUT / "bench-output" / "figures.md"
    if not source.is_file():
        raise SystemExit(f"there is no {source}: run make bench first")
    path = CHECKOUT / "README.md"
    path.write_text(put(path.read_text(encoding="utf-8"), source.read_text(encoding="utf-8")), encoding="utf-8")
