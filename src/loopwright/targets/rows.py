"""The text of a table of selection rows: operation, types, and the instructions it becomes.

A row is ``operation | types | instruction``; further instructions of it follow on lines that leave operation and types empty. ``#`` begins a comment line.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["read_rows", "words"]


def read_rows(table: str) -> list[tuple[str, str, str]]:
    """The rows of a table: operation, types, instructions, one a line."""
    rows: list[tuple[str, str, list[str]]] = []
    for line in table.split("\n"):
        if not line or line[0] == "#":
            continue
        op, types, instruction = line.split("|")
        if types.isspace():
            rows[-1][2].append(instruction.strip())
        else:
            rows.append((op.strip(), types.strip(), [instruction.strip()]))
    return [(op, types, "\n".join(instructions)) for op, types, instructions in rows]


def words(types: str, groups: Mapping[str, str]) -> list[str]:
    """The names of types in a row, those that stand for a group taken apart."""
    return " ".join([groups.get(word, word) for word in types.split()]).split()
