"""``setjmp`` and ``longjmp`` of simulated processors, in assembler: what C cannot say of them (``c_library/jumps.c`` has the rest).

A call leaves nothing in the switch or in registers. What its caller goes on with is in the caller's frame, so that where to go on, and the two pointers of the stack, are all there is to
keep.
"""

from __future__ import annotations

from typing import Final

from loopwright.targets.multiclet.assembler import assemble
from loopwright.targets.multiclet.calling import ARGUMENTS, RETURN
from loopwright.targets.multiclet.convention import DYNAMIC_STACK
from loopwright.targets.multiclet.parameters import Processor
from loopwright.targets.multiclet.program import Unit

__all__ = ["JUMPS", "assembled"]

#: Where a call finds its return address and its arguments: in registers, or from the stack pointer on.
_IN_REGISTERS: Final = f"""
    back := load_q #{RETURN}
    to := load_q #{ARGUMENTS[0]}
    value := load_q #{ARGUMENTS[1]}"""
_IN_MEMORY: Final = """
    back := load_l [#SP]
    to := loadu_l [#SP + 4]
    value := load_l [#SP + 8]"""
_SETJMP: Final = f"""
    wr_q @back, @to
    wr_q #SP, @to + 8
    wr_q #{DYNAMIC_STACK}, @to + 16
    setrg_q #RETV, 0
    jmp @back
complete
"""
_LONGJMP: Final = f"""
    there := load_q [@to]
    stack := load_q [@to + 8]
    dynamic := load_q [@to + 16]
    setrg_q #SP, @stack
    setrg_q #{DYNAMIC_STACK}, @dynamic
    setrg_q #RETV, @value
    jmp @there
complete
"""
_TEXTS: Final = {"setjmp": _SETJMP, "_setjmp": _SETJMP, "sigsetjmp": _SETJMP, "__sigsetjmp": _SETJMP, "__longjmp": _LONGJMP}
#: The names that there is assembler for.
JUMPS: Final = frozenset(_TEXTS)


def assembled(names: list[str], processor: Processor, in_registers: bool) -> Unit:
    """Those of the names, for programs whose calls pass arguments in registers, or in memory alone."""
    text = "    .text\n"
    for name in names:
        arguments = (_IN_REGISTERS if in_registers else _IN_MEMORY).splitlines()
        if _TEXTS[name] is _SETJMP:
            # (What it has besides the address is nothing of ours: there are no signals.)
            arguments.pop()
        text += f"    .globl {name}\n{name}:" + "\n".join(arguments) + _TEXTS[name]
    return assemble(text, processor, "<run-time library>")
