"""Where faults can be put, and a sample of them."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

#: The core: what turns a function of the IR into code that runs, and what it is judged by. Relative to src/loopwright.
CORE = ("passes", "nests", "regalloc", "targets", "runtime", "costs/perfscore.py")

Position = tuple[int, int]


@dataclass(frozen=True)
class Fault:
    """One change of one file.

    Attributes:
        path: the file, relative to the checkout.
        operator, occurrence: as cosmic-ray names them.
        line: where, 1-based.
        before, after: the lines that change, without their indentation.
    """

    path: str
    operator: str
    occurrence: int
    line: int
    before: str
    after: str

    def source(self, checkout: Path) -> str:
        """The file with the fault in it."""
        return _changed((checkout / self.path).read_text(encoding="utf-8"), self.operator, self.occurrence)


def files(checkout: Path) -> list[Path]:
    """The core's files, in a fixed order."""
    found: list[Path] = []
    for entry in CORE:
        path = checkout / "src" / "loopwright" / entry
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return [path for path in found if path.stat().st_size]


def _changed(source: str, operator: str, occurrence: int) -> str:
    changed = mutate_code(source, get_operator(operator)(), occurrence)
    assert changed is not None
    return str(changed)


def _without_effect(source: str) -> list[tuple[Position, Position]]:
    """Parts of a file in which a change cannot change what right code does, or changes only a message.

    They are annotations, assertions, ``strict=`` of zip, the texts of errors and ``__repr__``.
    """
    found: list[tuple[Position, Position]] = []

    def leave_out(node: ast.AST | None) -> None:
        if node is not None:
            place: Any = node
            found.append(((place.lineno, place.col_offset), (place.end_lineno, place.end_col_offset)))

    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.arg, ast.AnnAssign)):
            leave_out(node.annotation)
        elif isinstance(node, ast.FunctionDef):
            leave_out(node.returns)
            if node.name == "__repr__":
                leave_out(node)
        elif isinstance(node, ast.Raise):
            leave_out(node.exc)
        elif isinstance(node, ast.Assert):
            leave_out(node)
        elif isinstance(node, ast.keyword) and node.arg == "strict":
            leave_out(node.value)
        elif isinstance(node, ast.JoinedStr) or isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            leave_out(node)
    return found


def _places(source: str) -> dict[tuple[Position, Position], list[tuple[str, int]]]:
    """The (operator, occurrence) pairs that apply at each place of a file."""
    tree = get_ast(source)
    quiet = _without_effect(source)
    places: dict[tuple[Position, Position], list[tuple[str, int]]] = {}
    for name in operator_names():
        kind = get_operator(name)
        if kind.arguments():
            continue
        operator = kind()
        positions: Iterator[tuple[Position, Position]] = (position for node in ast_nodes(tree) for position in operator.mutation_positions(node))
        for occurrence, (start, end) in enumerate(positions):
            if not any(low <= start and end <= high for low, high in quiet):
                places.setdefault((start, end), []).append((name, occurrence))
    return places


def sample(checkout: Path, count: int, seed: int) -> list[Fault]:
    """So many faults, each at another place of the core.

    Places are drawn first and then one of the faults possible there: a sign of arithmetic, which has eleven others to be replaced by, counts
    no more than a comparison or a number. A place's lot depends on its own line alone, so most of a sample, and with it most of the results,
    lasts while the core changes elsewhere.
    """
    lots: list[tuple[bytes, str, list[tuple[str, int]], Position]] = []
    sources: dict[str, str] = {}
    for path in files(checkout):
        name = path.relative_to(checkout).as_posix()
        source = sources[name] = path.read_text(encoding="utf-8")
        lines = source.split("\n")
        alike: Counter[str] = Counter()
        for ((line, column), _), faults in sorted(_places(source).items()):
            text = lines[line - 1]
            place = f"{seed} {name} {text.strip()} {column - len(text) + len(text.lstrip())}"
            alike[place] += 1
            lots.append((_lot(f"{place} {alike[place]}"), name, faults, (line, column)))
    made: list[Fault] = []
    for lot, name, faults, (line, _) in sorted(lots)[:count]:
        operator, occurrence = min(faults, key=lambda fault: _lot(f"{lot.hex()} {fault[0]}"))
        source = sources[name]
        old, new = source.split("\n"), _changed(source, operator, occurrence).split("\n")
        hunks = [hunk for hunk in SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if hunk[0] != "equal"]
        before, after = ("\n".join(text.strip() for hunk in hunks for text in lines[hunk[at] : hunk[at + 1]]) for lines, at in ((old, 1), (new, 3)))
        made.append(Fault(name, operator, occurrence, line, before, after))
    return made


def _lot(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
