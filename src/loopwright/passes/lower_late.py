"""``lower-late``: what depends on the registers chosen: two-operand forms, copies that turned out empty."""

from __future__ import annotations

from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.passes import tail_calls
from loopwright.targets.target import Rule, Target


def run(f: Function, target: Target) -> None:
    """Make every tied result share its operand's register, give instructions made since ``lower`` their rules, and make tail calls jumps."""
    tail_calls.make(f, target)
    out: list[Instr] = []
    for instr in f.code:
        op = instr.op
        if op is ops.COPY and instr.dst == instr.args[0]:
            continue
        rule: Rule | None = instr.rule
        if rule is None:
            rule = target.rule(f, instr)
            instr.rule = rule
        tied = rule.tied
        if tied >= 0 and instr.dst >= 0:
            args = instr.args
            source = args[tied]
            if source != instr.dst:
                if rule.commutes and args[1 - tied] == instr.dst:
                    args[tied], args[1 - tied] = args[1 - tied], source
                else:
                    copy = Instr(ops.COPY, ops.result_type(op, instr.type, instr.source), instr.dst, [source], 0, instr.line)
                    copy.rule = target.rule(f, copy)
                    out.append(copy)
                    args[tied] = instr.dst
        out.append(instr)
    f.code = out
