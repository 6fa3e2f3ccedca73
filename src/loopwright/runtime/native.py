"""Machine code as a callable, without a ``Function`` behind it: for bytes that come from elsewhere.

A function is called with the convention of the platform: System V on Linux and macOS, Win64 on Windows. ctypes cannot call the
other one; a few bytes of machine code that move the arguments between the two can.
"""

from __future__ import annotations

from typing import Any

from loopwright.runtime import memory
from loopwright.runtime.call import Parameter, Signature
from loopwright.runtime.entry import callable_of
from loopwright.runtime.scalars import ScalarParameter
from loopwright.types import Type

__all__ = ["NativeFunction"]


class NativeFunction:
    """Calls machine code with scalar arguments; the GIL is released meanwhile.

    Args:
        block: where the code is; kept alive.
        params: types of the parameters.
        result: type of the result, ``VOID`` for none.
        name: for error messages.
        names: of the parameters, to pass arguments by name.
        offset: of the function's first byte in the block.

    Raises:
        AbiError: a type that cannot be passed from Python.

    Calling it raises ``ArgumentError`` when arguments are missing, too many, of the wrong kind or out of range.
    """

    __slots__ = ("__weakref__", "_call", "block", "signature")

    def __init__(self, block: memory.Block, params: list[Type], result: Type, name: str = "function", names: list[str] | None = None, offset: int = 0) -> None:
        parameters: list[Parameter] = [ScalarParameter(names[k] if names else f"argument{k + 1}", type_) for k, type_ in enumerate(params)]
        self.block = block
        self.signature = Signature(name, parameters, result)
        self._call = callable_of(self.signature, block.address + offset, block)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)
