"""Where instructions come from: the lines of the C source that clang's debug information names, or else those of the IR itself."""

from __future__ import annotations

import os
import re
from typing import Final

from loopwright.frontend.llvm.syntax import Instruction, LlvmFunction, LlvmModule

__all__ = ["Lines"]

_REFERENCE: Final = re.compile(r"\b(scope|file|inlinedAt): !(\d+)")
_LINE: Final = re.compile(r"\bline: (\d+)")
_FILE: Final = re.compile(r'filename: "([^"]*)"(?:, directory: "([^"]*)")?')


class Lines:
    """The lines of a module's functions.

    Args:
        module: the module.
        file: what the IR's own text is called.
    """

    def __init__(self, module: LlvmModule, file: str) -> None:
        self.module = module
        self.file = file
        self._references: dict[int, dict[str, int]] = {}
        self._texts: dict[str, dict[int, str]] = {}

    def _of(self, number: int) -> dict[str, int]:
        known = self._references.get(number)
        if known is None:
            known = self._references[number] = {what: int(to) for what, to in _REFERENCE.findall(self.module.metadata.get(number, ""))}
        return known

    def _file_of(self, number: int) -> int:
        """The number of the file that a scope is in, or -1."""
        for _ in range(1000):
            found = self._of(number)
            if "file" in found:
                return found["file"]
            if "scope" not in found:
                break
            number = found["scope"]
        return -1

    def source(self, function: LlvmFunction) -> tuple[str, dict[int, str]]:
        """The source file of a function, and its lines by number."""
        path, known = self._source(function.debug)
        if not path:
            return self.file, dict(enumerate(self.module.text, 1)) if len(self.module.text) < 10_000 else {}
        return path, known

    def located(self, number: int) -> tuple[str, int, str] | None:
        """The file, the line, and its text, that debug information names; None where it names none."""
        path, known = self._source(number)
        match = _LINE.search(self.module.metadata.get(number, ""))
        if not path or match is None or match[1] == "0":
            return None
        line = int(match[1])
        return path, line, known.get(line, "").strip()[:200]

    def _source(self, number: int) -> tuple[str, dict[int, str]]:
        """The source file of a scope, and its lines by number; "" where there is none."""
        match = _FILE.search(self.module.metadata.get(self._file_of(number), "")) if number >= 0 else None
        if not match:
            return "", {}
        path = os.path.join(match[2] or "", match[1])
        known = self._texts.get(path)
        if known is None:
            try:
                with open(path, encoding="utf-8", errors="replace") as file:
                    known = dict(enumerate(file.read().split("\n"), 1))
            except OSError:
                known = {}
            self._texts[path] = known
        return path, known

    def line(self, function: LlvmFunction, i: Instruction, before: int) -> int:
        """The line an instruction comes from: of its function's file, in which it may have been put by inlining; of the IR without debug information."""
        if function.debug < 0:
            return i.line
        wanted = self._file_of(function.debug)
        number = i.debug
        while number >= 0:
            if self._file_of(number) == wanted:
                match = _LINE.search(self.module.metadata.get(number, ""))
                # (Line 0: of no line in particular.)
                return int(match[1]) or before if match else before
            number = self._of(number).get("inlinedAt", -1)
        return before
