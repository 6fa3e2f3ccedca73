"""Random loops without branches: accesses to two arrays at constant distances, arithmetic, and variables that carry values and change places."""

from __future__ import annotations

import random

from loopwright.ir.function import Function
from loopwright.ir.parse import parse

#: Elements in front of and behind those that index 0 to ``MOST - 1`` touch.
MARGIN = 6
MOST = 21


def random_body(rng: random.Random, step: int = 1, around: bool = False) -> Function:
    """``loop(x, y, low, high)`` over float arrays: a body of 2 to 14 operations, in a loop from ``low`` to ``high`` by ``step``."""
    lines: list[str] = []
    variables = [f"v{k}" for k in range(rng.randint(0, 4))]
    values = ["0.75", "%i.f"]
    names = 0

    def new() -> str:
        nonlocal names
        names += 1
        return f"%t{names}"

    def index() -> str:
        offset = rng.choice([0, 0, 0, 1, -1, -2, 3, -4])
        if offset == 0:
            return "%i"
        name = new()
        lines.append(f"{name} = add.i64 %i, {offset}")
        return name

    lines.append("%i.f = convert.f64.i64 %i")
    for _ in range(rng.randint(2, 14)):
        kind = rng.choice(["load", "load", "store", "store", "op", "op", "op", "choice", "write", "move"])
        if kind == "load":
            at, name = index(), new()
            lines.append(f"{name} = load.f64 {rng.choice('xy')}[{at}]")
            values.append(name)
        elif kind == "store":
            at = index()
            lines.append(f"store.f64 {rng.choice(values[-4:])}, {rng.choice('xy')}[{at}]")
        elif kind == "choice":
            # (Found early, and taken late: the condition may have to be kept.)
            condition, name = new(), new()
            lines.insert(rng.randint(len(lines) // 2 or 1, len(lines)), f"{condition} = lt.f64 {rng.choice(values[:2])}, 9.5")
            lines.append(f"{name} = select.f64 {condition}, {rng.choice(values)}, {rng.choice(values)}")
            values.append(name)
        elif kind == "op" or not variables:
            name = new()
            op = rng.choice(["add", "add", "mul", "sub", "min"])
            lines.append(f"{name} = {op}.f64 {rng.choice(values)}, {rng.choice([*values, *[f'%{v}' for v in variables]])}")
            values.append(name)
        elif kind == "write":
            variable = rng.choice(variables)
            lines.append(f"%{variable} = {rng.choice(['add', 'copy'])}.f64 " + rng.choice(values) + "")
            if " = add" in lines[-1]:
                lines[-1] += f", {rng.choice([*values, f'%{variable}'])}"
        else:
            lines.append(f"%{rng.choice(variables)} = copy.f64 %{rng.choice(variables)}")
    body = "\n".join(f"    {line}" for line in lines)
    declared = "".join(f"  var %{v}: f64\n" for v in variables)
    begin = "\n".join(f"  %{v} = copy.f64 {k}.5" for k, v in enumerate(variables))
    end = "\n".join(f"  store.f64 %{v}, x[{k}]" for k, v in enumerate(variables) if rng.random() < 0.6)
    head, tail = ("  %o = for 0, 2, 1\n", "\n  end") if around else ("", "")
    return parse(
        "function loop(%x: ptr, %x.n0: i64, %y: ptr, %y.n0: i64, %low: i64, %high: i64)\n  stage collect\n"
        "  array x: f64[%x.n0] at %x written\n  array y: f64[%y.n0] at %y written\n"
        f"{declared}{begin}\n{head}  %i = for %low, %high, {step}\n{body}\n  end{tail}\n{end}\nend\n"
    )
