"""A kernel that differs, made as small as it can be while it still does."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator

from tests.random_kernels.compare import Difference, check, check_emulated, load
from tests.random_kernels.tree import BOOL, INDEX, Clause, Expr, Program, expressions

__all__ = ["reduced", "verdict"]

#: Seconds that one attempt may take: some kernels do not end any more when a statement is taken away.
_TIMEOUT = 20
#: Seconds for all attempts.
_PATIENCE = 300


def verdict(program: Program, target: str) -> Difference | None:
    """What a target does otherwise than plain Python."""
    loaded = load(program)
    if isinstance(loaded, Difference):
        return loaded if target == "python" else None
    found, _, emulated = check(loaded, target)
    found += [difference for _, difference in check_emulated(emulated)]
    return found[0] if found else None


def _outcome(program: Program, target: str) -> str:
    """In a process of its own: what it is that differs, "" for nothing, "crashed" when the process dies."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            signal.alarm(_TIMEOUT)
            # What a crash prints is not of interest.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            found = verdict(program, target)
            os.write(writing, (_signature(found) if found is not None else "").encode()[:4000])
            os._exit(0)
        finally:
            os._exit(9)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "" if os.WTERMSIG(status) == signal.SIGALRM else "crashed"
    return text


def _signature(found: Difference) -> str:
    """A difference is the same as another when it is of the same kind; an error, when it says the same but for names and numbers."""
    if found.what == "different":
        return found.what
    last = found.text.strip().splitlines()[-1]
    return f"{found.what} {''.join([c for c in last.split(': ', 2)[-1] if not c.isdigit()])}"


def reduced(program: Program, target: str) -> Program:
    """The smallest program found that differs in the same way."""
    wanted = _outcome(program, target)
    if not wanted:
        return program
    best = program.copy()
    end = time.monotonic() + _PATIENCE
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for step in (_drop_statements, _unwrap, _simplify, _drop_functions, _drop_parameters):
            position = 0
            while time.monotonic() < end:
                candidate = best.copy()
                attempt = next(_skip(step(candidate), position), None)
                if attempt is None:
                    break
                attempt()
                if _outcome(candidate, target) == wanted:
                    best = candidate
                    progress = True
                else:
                    position += 1
    return best


def _skip(attempts: Iterator[Callable[[], None]], count: int) -> Iterator[Callable[[], None]]:
    for position, attempt in enumerate(attempts):
        if position >= count:
            yield attempt


def _drop_statements(program: Program) -> Iterator[Callable[[], None]]:
    """Each run of statements in a block, long ones first."""
    for block in program.blocks():
        length = len(block)
        while length:
            for start in range(0, len(block), length):
                yield lambda block=block, start=start, length=length: block.__delitem__(slice(start, start + length))
            length //= 2


def _unwrap(program: Program) -> Iterator[Callable[[], None]]:
    """A compound statement becomes one of its bodies, or loses a clause."""
    for block in program.blocks():
        for position, stmt in enumerate(block):
            if stmt.kind == "function":
                continue
            for clause in stmt.clauses:
                if clause.body is not None:
                    yield lambda block=block, position=position, clause=clause: block.__setitem__(slice(position, position + 1), clause.body or [])
            for number in range(len(stmt.clauses) - 1, 0, -1):
                yield lambda stmt=stmt, number=number: stmt.clauses.__delitem__(number)


def _simplify(program: Program) -> Iterator[Callable[[], None]]:
    """An expression becomes one of its operands that has its type, or a constant."""
    for block in program.blocks():
        for stmt in block:
            for clause in stmt.clauses:
                for owner, position, found in _positions(clause):
                    for simpler in _simpler(found):
                        yield lambda owner=owner, position=position, simpler=simpler: owner.__setitem__(position, simpler)


def _positions(clause: Clause) -> Iterator[tuple[list[str | Expr], int, Expr]]:
    waiting = [clause.parts]
    while waiting:
        owner = waiting.pop(0)
        for position, part in enumerate(owner):
            if isinstance(part, Expr):
                yield owner, position, part
                waiting.append(part.parts)


def _simpler(found: Expr) -> Iterator[Expr]:
    if found.op in ("element", "bounds"):
        return
    inner = [e for e in expressions(found.parts) if e.kind == found.kind and e.op not in ("number", "started")]
    yield from sorted(inner, key=lambda e: len(str(e)))
    if found.kind == BOOL:
        for text in ("True", "False"):
            if str(found) != text:
                yield Expr(BOOL, "number", text)
    elif found.kind == INDEX:
        if str(found) not in ("0", "1"):
            yield Expr(INDEX, "number", "0")
    elif found.op not in ("number", "name") and len(str(found)) > len(f"lw.{found.kind}(1)"):
        yield Expr(found.kind, "constant", f"lw.{found.kind}(1)")


def _drop_functions(program: Program) -> Iterator[Callable[[], None]]:
    for position in range(len(program.functions) - 1, -1, -1):
        yield lambda position=position: program.functions.__delitem__(position)


def _drop_parameters(program: Program) -> Iterator[Callable[[], None]]:
    for position in range(len(program.parameters) - 1, -1, -1):
        yield lambda position=position: _without(program, position)


def _without(program: Program, position: int) -> None:
    """Without a parameter; one fewer for ``n`` to depend on."""
    program.parameters = [*program.parameters[:position], *program.parameters[position + 1 :]]
    for stmt in program.body:
        if stmt.kind == "lengths" and str(stmt.clauses[0].parts[0]).startswith("n = ") and program.arrays():
            stmt.clauses = [Clause([program.least_length()])]


def main() -> None:
    from tests.random_kernels.kernels import make

    program = make(int(sys.argv[1]))
    target = sys.argv[2]
    small = reduced(program, target)
    print(small.text())
    found = verdict(small, target)
    print(found.text if found else "")


if __name__ == "__main__":
    main()
