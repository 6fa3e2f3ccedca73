"""Hashes and numbers by their digits: what is multiplied by the same number in each iteration, and something added, takes several iterations in one step.

::

    h = h * c + x0                 t = x0 * c + x1
    h = h * c + x1                 t = t * c + x2
    h = h * c + x2         →       t = t * c + x3
    h = h * c + x3                 h = h * c**4 + t

Of integers, which wrap, both are the same. There are as many products, but the next iteration of the unrolled loop waits for one product and one sum instead of four of each; ``t`` is
computed meanwhile (a recurrence of the first order by steps of several: P. Kogge and H. Stone, "A parallel algorithm for the efficient solution of a general class of recurrence
equations", IEEE Transactions on Computers, 1973).
"""

from __future__ import annotations

from typing import Final

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr

__all__ = ["shorten"]

_SUMS: Final = (ops.ADD, ops.SUB)


def shorten(f: Function, head: int) -> None:
    """Rewrite such variables of an unrolled loop, whose body is straight code.

    Args:
        f: the function.
        head: the position of the loop's first bracket.
    """
    end = head + 1
    while f.code[end].op is not ops.END:
        end += 1
    body = f.code[head + 1 : end]
    for variable in dict.fromkeys([instr.dst for instr in body if instr.dst >= 0 and f.variable[instr.dst] and f.types[instr.dst].is_integer]):
        links = _links(f, body, variable)
        if len(links) > 1:
            ahead: list[Instr] = []
            body = _in_one_step(f, body, variable, links, ahead)
            f.code[head:end] = [*ahead, f.code[head], *body]
            head += len(ahead)
            end = head + 1 + len(body)


def _links(f: Function, body: list[Instr], variable: int) -> list[tuple[int, int]]:
    """The places of the product and the sum of each step, if that is all that a variable is for, and all multiply by the same; otherwise none."""
    links: list[tuple[int, int]] = []
    product = factor = -1
    defined = {instr.dst for instr in body}
    uses: dict[int, int] = {}
    for instr in body:
        for a in instr.args:
            uses[a] = uses.get(a, 0) + 1
    for k, instr in enumerate(body):
        if product < 0 and variable in instr.args:
            other = instr.args[1 - instr.args.index(variable)] if len(instr.args) == 2 else variable
            if instr.op is not ops.MUL or instr.type.lanes or other == variable or other in defined or (links and other != factor):
                return []
            if (other >= 0 and f.variable[other]) or f.variable[instr.dst] or uses.get(instr.dst, 0) != 1:
                return []
            product, factor = k, other
        elif product >= 0 and body[product].dst in instr.args:
            if instr.op not in _SUMS or instr.dst != variable or variable in instr.args or (instr.op is ops.SUB and instr.args[0] != body[product].dst):
                return []
            links.append((product, k))
            product = -1
        elif variable in instr.args or instr.dst == variable:
            return []
    return links if product < 0 else []


def _in_one_step(f: Function, body: list[Instr], variable: int, links: list[tuple[int, int]], ahead: list[Instr]) -> list[Instr]:
    """The body with one step of the variable; what is needed in front of the loop is appended to ``ahead``."""
    type_ = f.types[variable]
    product = body[links[0][0]]
    factor = product.args[1 - product.args.index(variable)]
    instead: dict[int, list[Instr]] = {k: [] for k, _ in links}
    so_far = -1
    for multiplied, added in links:
        instr = body[added]
        term = instr.args[1] if instr.args[0] == body[multiplied].dst else instr.args[0]
        made = f.register(type_)
        if so_far < 0:
            first = Instr(ops.COPY, type_, made, [term], 0, instr.line)
            if instr.op is ops.SUB:
                first = Instr(ops.SUB, type_, made, [f.const(type_, 0), term], 0, instr.line)
            instead[added] = [first]
        else:
            scaled = f.register(type_)
            instead[added] = [
                Instr(ops.MUL, type_, scaled, [so_far, factor], 0, body[multiplied].line),
                Instr(instr.op, type_, made, [scaled, term], 0, instr.line),
            ]
        so_far = made
    power = _power(f, factor, len(links), product, ahead)
    scaled = f.register(type_)
    last = body[links[-1][1]]
    instead[links[-1][1]] += [
        Instr(ops.MUL, type_, scaled, [variable, power], 0, product.line),
        Instr(ops.ADD, type_, variable, [scaled, so_far], 0, last.line),
    ]
    return [each for k, instr in enumerate(body) for each in instead.get(k, [instr])]


def _power(f: Function, factor: int, exponent: int, product: Instr, ahead: list[Instr]) -> int:
    """A factor to the power of a number of steps."""
    type_ = product.type
    if factor < 0:
        return f.const(type_, int(f.const_values[~factor]) ** exponent)
    power = factor
    for _ in range(exponent - 1):
        made = f.register(type_)
        ahead.append(Instr(ops.MUL, type_, made, [power, factor], 0, product.line))
        power = made
    return power
