"""What a machine asks of code that comes from LLVM IR beyond what the IR says."""

from __future__ import annotations

from typing import Final

__all__ = ["USUAL", "Abi"]


class Abi:
    """How memory is accessed and functions are called.

    Attributes:
        aligned: every access is at a multiple of its size: what the IR does not know to be is made of smaller ones. What copies and fills memory are C's
            ``memcpy``, ``memmove`` and ``memset``, which are linked to the program.
        lists: all functions with a variable number of arguments take those in memory of the caller's, whose address is a last parameter, also the ones of other modules.
        by_address: a struct by value is passed by the address of a copy that the caller makes, and several results by memory of the caller's, whose address is the last
            argument, as the processor has no convention for them; the code has no places (``Callee.places``) and one result at most.
        fused: the machine multiplies and adds with one rounding; for others C's ``fma`` does.
        twice: calls may return twice: a call leaves all that its caller goes on with in the caller's frame.
        alone: nothing else has its memory: what is a fence among threads orders the compiler's accesses only.
        frame: of what the addresses of memory in the frame are multiples.
    """

    __slots__ = ("aligned", "alone", "by_address", "frame", "fused", "lists", "twice")

    def __init__(
        self,
        aligned: bool = False,
        lists: bool = False,
        fused: bool = True,
        by_address: bool = False,
        frame: int = 16,
        twice: bool = False,
        alone: bool = False,
    ) -> None:
        self.aligned = aligned
        self.fused = fused
        self.lists = lists
        self.by_address = by_address
        self.frame = frame
        self.twice = twice
        self.alone = alone


#: Machines that access any address; functions of other modules are those of C's library.
USUAL: Final = Abi()
