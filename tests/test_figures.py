"""The figures of the documentation are put between their markers, and nothing else is touched."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
from benchmarks import report

CHECKOUT = Path(__file__).resolve().parents[1]
PUT: dict[str, Any] = runpy.run_path(str(CHECKOUT / "docs" / "put_figures.py"))


def results() -> list[report.Result]:
    table = report.Table("Import time, ms (median)", ["what", "native"], [["import numpy", "55.4"]])
    hidden = report.Table("Every kernel", ["kernel", "ms"], [["poly", "1"]], detail=True)
    return [report.Result("imports", [table, hidden], [report.Verdict("import loopwright", 4.1, 100.0, "ms", pure=3.0)])]


def test_the_targets_go_to_the_readme_and_the_tables_to_their_page(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("before\n<!-- targets -->\nold\n<!-- /targets -->\nafter\n")
    (tmp_path / "docs" / "figures.md").write_text("# Figures\n\n<!-- figures -->\n<!-- /figures -->\n")
    output = tmp_path / "output"
    output.mkdir()
    (output / "targets.md").write_text(report.targets_markdown(results()))
    (output / "figures.md").write_text(report.tables_markdown(results()))
    PUT["main"](output, tmp_path)
    readme = (tmp_path / "README.md").read_text()
    assert readme.startswith("before\n<!-- targets -->\nMeasured on ") and readme.endswith("| yes |\n<!-- /targets -->\nafter\n")
    assert "| import loopwright | 4.1 ms | 3 ms | <= 100 ms | yes |" in readme
    assert "old" not in readme and "Import time" not in readme
    page = (tmp_path / "docs" / "figures.md").read_text()
    assert "**Import time, ms (median)**\n\n| what | native |\n|---|---:|\n| import numpy | 55.4 |\n<!-- /figures -->\n" in page
    assert "<= 100 ms" not in page and "Every kernel" not in page
    # A second time gives the same.
    PUT["main"](output, tmp_path)
    assert (tmp_path / "README.md").read_text() == readme and (tmp_path / "docs" / "figures.md").read_text() == page


@pytest.mark.parametrize("missing", ["targets.md", "figures.md"])
def test_nothing_is_put_where_a_file_is_missing(tmp_path: Path, missing: str) -> None:
    (tmp_path / "docs").mkdir()
    pages = {"README.md": "<!-- targets -->\n<!-- /targets -->", "docs/figures.md": "<!-- figures -->\n<!-- /figures -->"}
    for page, text in pages.items():
        (tmp_path / page).write_text(text)
    (tmp_path / ("figures.md" if missing == "targets.md" else "targets.md")).write_text("new")
    with pytest.raises(SystemExit, match=f"there is no .*{missing}"):
        PUT["main"](tmp_path, tmp_path)
    assert {page: (tmp_path / page).read_text() for page in pages} == pages


@pytest.mark.parametrize("page", ["", "<!-- targets -->\n", "<!-- targets --><!-- /targets -->"])
def test_markers_that_are_missing_are_named(page: str) -> None:
    with pytest.raises(ValueError, match="lacks the markers <!-- targets --> and <!-- /targets -->"):
        PUT["put"](page, "targets", "new")


def test_the_pages_have_their_markers() -> None:
    for _, page, name in PUT["PLACES"]:
        assert "\nnew\n<!--" in PUT["put"]((CHECKOUT / page).read_text(encoding="utf-8"), name, "new")
