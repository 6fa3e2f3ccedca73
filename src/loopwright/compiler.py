"""Function + target + options -> machine code: the pipeline run, stage by stage."""

from __future__ import annotations

import os
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

from loopwright.environment import variable
from loopwright.errors import InternalError, LoopwrightError, TargetError, UnsupportedOperationError, VerifyError
from loopwright.ir import ops
from loopwright.ir.function import Function, Instr
from loopwright.ir.roles import address_at
from loopwright.ir.stages import STAGES
from loopwright.passes import addresses, immediates, origins
from loopwright.regalloc.heuristics import DEFAULT_ORDER, check_order
from loopwright.settings import Settings
from loopwright.targets.pipeline import COLLECT, Pass, names_of, with_insertions
from loopwright.targets.target import MachineCode, Target
from loopwright.types import BF16, F16

__all__ = ["Compiled", "compile", "run_passes"]

ENVIRONMENT_ORDER: Final = "LOOPWRIGHT_LSRA_ORDERING"
ENVIRONMENT_PROVE: Final = "LOOPWRIGHT_PROVE"
ENVIRONMENT_RECORD: Final = "LOOPWRIGHT_RECORD"

#: Called with (function, target, order) before each compilation: whoever records them.
RECORDERS: Final[list[Callable[[Function, Target, str], None]]] = []


class Compiled:
    """What a compilation gives.

    Attributes:
        source: the function as the front end made it.
        machine: bytes, constant pool, relocations.
        target: the target it was compiled for.
        order: the register selection order used.
        passes: the passes that were run, in order.
        times: seconds spent in each pass, in order.
        stages: text after each pass, when asked for with ``keep``.
        statistics: what register allocation cost.
    """

    __slots__ = ("_function", "machine", "order", "passes", "source", "stages", "statistics", "target", "times")

    def __init__(
        self,
        source: Function,
        function: Function,
        machine: MachineCode,
        target: Target,
        order: str,
        times: dict[str, float],
        stages: dict[str, str],
        passes: tuple[Pass, ...] = (),
    ) -> None:
        self.source = source
        self._function: Function | None = function
        self.machine = machine
        self.target = target
        self.order = order
        self.passes = passes
        self.times = times
        self.stages = stages
        self.statistics = function.statistics

    @property
    def function(self) -> Function:
        """The function after the last pass (allocated, with its frame); after ``release`` compiled again each time that it is asked for."""
        if self._function is not None:
            return self._function
        return run_passes(self.source, self.target, settings=Settings(ordering=self.order), passes=self.passes)

    def release(self) -> None:
        """Let go of what can be made again, which is most: the function after the last pass, and its instructions as the encoder had them.

        Code that is called is seldom looked at, and what it keeps is what the garbage collector walks over, time and again. Passes of the user's own may do something
        else the next time, so that what they took part in is kept.
        """
        if any(each.own for each in self.passes):
            return
        self._function = None
        self.machine.instructions = None

    @property
    def instructions(self) -> Any:
        """The machine's instructions as the encoder had them."""
        return self._whole().instructions

    def listing(self) -> list[tuple[int, bytes, str, int]]:
        """The instructions, constants not among them: (offset, bytes, text, user's line) of each."""
        return self.target.listing(self._whole())

    def _whole(self) -> MachineCode:
        return self.machine if self._function is not None else self.function.machine


_STAGES: Final = frozenset(STAGES)
_ADVANCES: Final = frozenset(ops.ADVANCES.values())
#: Brackets without operands, of which targets need know nothing.
_RULELESS: Final = frozenset((ops.BLOCK, ops.LOOP, ops.ELSE, ops.END))


def order_in_force(ordering: str | None) -> str:
    """The order of register selection filters: the argument, else the environment's, else the default.

    Raises ``TargetError`` when it is no permutation of the letters A to Q.
    """
    if ordering is None:
        named = variable(ENVIRONMENT_ORDER)
        if not named:
            return DEFAULT_ORDER
        try:
            return check_order(named)
        except TargetError as error:
            raise TargetError(f"{error.message} (it is the environment's {ENVIRONMENT_ORDER})") from None
    return check_order(ordering)


def resolve(settings: Settings | None = None) -> Settings:
    """The order of the filters and whether allocations are proved: as told, else as the environment says, else the default.

    Raises ``TargetError`` when the order is no permutation of the letters A to Q.
    """
    asked = settings if settings is not None else Settings()
    prove = asked.prove
    if prove is None:
        prove = variable(ENVIRONMENT_PROVE) not in ("", "0")
    return Settings(asked.target, asked.vector_bits, order_in_force(asked.ordering), bool(prove), bool(asked.keep), asked.passes)


_SELECT: Final = STAGES.index("select")
#: What a pass leaves for the next beside the code is no part of the text: after these, the pass that compiling goes on with.
_AGAIN: Final = {"select": "liveness", "liveness": "liveness", "lower-late": "assemble", "assemble": "assemble", "encode": "assemble"}


def _resume(f: Function, target: Target, passes: tuple[Pass, ...]) -> int:
    """The position in ``passes`` of the one that a function goes on with. It may be a text's, so it is made sure of what later passes rely on.

    Raises:
        VerifyError: it breaks a rule of the representation, or has something in it that the target cannot encode.
        TargetError: it was lowered for another target, or is at a stage that the target's passes do not come by.
    """
    from loopwright.ir.verify import verify

    done = STAGES.index(f.stage) if f.stage in STAGES else 0
    if done >= _SELECT and f.target_name != target.name:
        what = f"lowered for {f.target_name}" if f.target_name else "lowered, and does not say for which target"
        raise TargetError(f"{f.name} is {what}: it cannot be compiled on for {target.name}")
    names = names_of(passes)
    if f.stage in STAGES and f.stage not in names:
        raise TargetError(f"{f.name} is at the stage {f.stage}, which compiling for {target.name} does not come by; the passes are {', '.join(names)}")
    # (The first name is of no pass: what follows a pass has its number among the names.)
    again = _AGAIN.get(f.stage, "")
    following = names.index(again) - 1 if again in names else names.index(f.stage) if f.stage in names else 0
    if f.stage in _AGAIN and any(instr.rule is not None for instr in f.code):
        # Not a text: it has been lowered in this process.
        return following
    verify(f, target)
    _fit(f, target)
    return following


def _fit(f: Function, target: Target) -> None:
    """Give code that comes from elsewhere what the passes so far would have given it: addresses and constants that the target can hold, and rules.

    Raises ``VerifyError`` where it is too late for that.
    """
    done = STAGES.index(f.stage) if f.stage in STAGES else 0
    if done < _SELECT:
        listed = names_of(target.passes())
        if done >= STAGES.index("addresses") and "addresses" in listed:
            addresses.run(f, target)
        if done >= STAGES.index("immediates") and "immediates" in listed:
            immediates.run(f, target)
        return
    for instr in f.code:
        _check_encodable(f, instr, target)
        if instr.rule is None and instr.op not in _RULELESS:
            # Rules are not part of the text.
            instr.rule = target.rule(f, instr)


def _check_encodable(f: Function, instr: Instr, target: Target) -> None:
    """Raises ``VerifyError`` when an instruction holds a constant or an address that the target has no room for."""
    from loopwright.ir.text import instruction_text

    problem = ""
    mem = instr.mem
    begins = address_at(instr) if mem is not None and mem.origin is not None else -1
    for k, a in enumerate(instr.args):
        held = a >= 0 or k == begins or instr.op is ops.COPY or target.immediate(instr, k, f.const_types[~a], f.const_values[~a])
        # The guard of a loop is made when constants have been seen to: targets take any whole number there.
        held = held or (instr.op.compare != "" and k == 1 and f.const_types[~a].is_integer)
        if not held and not target.constant_from_memory(instr, k):
            problem = f"the constant operand {k} needs a register"
    if mem is not None:
        addressing = target.addressing(instr.type)
        if not addressing.displaces(mem.disp) or (mem.indexed and not addressing.indexes(mem.scale, mem.disp)):
            problem = "the address has to be computed"
        if mem.origin is not None and not origins.holds(f, target, instr):
            problem = f"no address begins with what `{mem.origin.name}` makes here"
        if instr.op in _ADVANCES and not (addressing.advances_several(instr.imm, mem.size) if instr.op.parts > 1 else addressing.advances(instr.imm)):
            problem = f"no access moves its pointer on by {instr.imm} bytes"
    if problem:
        raise VerifyError(f"{f.name}: `{instruction_text(f, instr, target)}`: on {target.name} {problem}", f.file, instr.line)


def _run(each: Pass, f: Function, target: Target, settings: Settings) -> None:
    """Run one pass. Raises what it raises; and for what is not an error of the library's own, ``InternalError``, unless the pass is a user's."""
    name = each.name
    try:
        if each.own:
            _run_own(each, f, target)
        elif each.settings:
            each.run(f, target, settings)
        else:
            each.run(f, target)
    except LoopwrightError as error:
        if error.line and not error.file:
            error.locate(f.file, error.line, f.lines.get(error.line, "").strip())
        if isinstance(error, UnsupportedOperationError):
            _name_half_precision(error, f, target)
        raise
    except InternalError:
        raise
    except Exception as error:
        if each.own:
            error.add_note(f"in the pass {name}, of {f.name} for {target.name}")
            raise
        raise InternalError(f"pass {name}: {type(error).__name__}: {error}", _text_or_nothing(f, target)) from error
    if name in _STAGES:
        f.stage = name


def _run_own(each: Pass, f: Function, target: Target) -> None:
    """Run a user's pass, and make sure that what it leaves is a function at the stage it was at."""
    from loopwright.ir.verify import verify

    each.run(f, target)
    try:
        verify(f, target)
        _fit(f, target)
    except VerifyError as error:
        raise VerifyError(f"after the pass {each.name}: {error.message}", error.file, error.line) from error
    except (AttributeError, IndexError, TypeError) as error:
        # Tables and instructions that are none: the verifier takes it that each part is of its type.
        raise VerifyError(f"after the pass {each.name}: what it leaves is no function any more ({type(error).__name__}: {error})", f.file) from error


def run_passes(
    function: Function,
    target: Target,
    after: str = "",
    settings: Settings | None = None,
    times: dict[str, float] | None = None,
    stages: dict[str, str] | None = None,
    passes: tuple[Pass, ...] | None = None,
) -> Function:
    """The function after the named pass; the one given is not changed.

    A function that is already past some passes (parsed from text printed there) goes on from its stage.

    Args:
        function: any function of the IR.
        target: what to compile for.
        after: name of the last pass to run; "" for all.
        settings: the order of the filters, and whether allocations are proved; None for as the environment says.
        times: receives the seconds each pass took.
        stages: receives the text after each pass.
        passes: the list to run; None for the target's.

    Raises:
        TargetError: unknown pass name or bad ordering.
        UnsupportedOperationError: the target lacks an operation for a type.
    """
    if passes is None:
        passes = target.passes()
    names = names_of(passes)
    after = after or names[-1]
    if after not in names:
        raise TargetError(f"there is no pass {after!r}; the passes are {', '.join(names)}")
    return _through(function, target, passes, names.index(after), resolve(settings), times, stages)


def _through(
    function: Function,
    target: Target,
    passes: tuple[Pass, ...],
    count: int,
    told: Settings,
    times: dict[str, float] | None,
    stages: dict[str, str] | None,
) -> Function:
    """The function after the first ``count`` passes, by resolved settings."""
    f = _fitting(function, target).clone()
    first = 0 if f.stage == COLLECT else _resume(f, target, passes)
    if stages is not None:
        stages[f.stage] = text_of(f, target)
    # The passes right before, each of which may go by what the one before it has kept beside the code.
    again: list[Pass] = []
    start = perf_counter()
    for each in passes[first:count]:
        _run(each, f, target, told)
        if each.own:
            for before in again:
                _run(before, f, target, told)
        elif each.again:
            again.append(each)
        elif again:
            again = []
        if times is not None:
            end = perf_counter()
            times[each.name] = end - start
            start = end
        if stages is not None:
            stages[each.name] = text_of(f, target, each.name)
            start = perf_counter()
    return f


def _fitting(function: Function, target: Target) -> Function:
    """What is compiled of a function: where there is one for machines with vectors, that on these."""
    vectors = function.with_vectors
    return vectors if vectors is not None and target.vector_bits else function


def _name_half_precision(error: UnsupportedOperationError, f: Function, target: Target) -> None:
    """Say of a missing operation that the type is the reason, where one of 16 bits takes part that the machine does not compute with."""
    native = bool(target.half_operations)
    for array in f.arrays:
        if array.element is BF16 or (array.element is F16 and not native):
            error.message = (
                f"the array {array.name} holds {array.element.dtype or array.element.name}, which {target.name} does not compute with: "
                f"pass it as f32, as in {array.name}.astype(np.float32)"
            )
            return
    for type_ in f.types:
        if type_.element is BF16 or (type_.element is F16 and not native):
            error.message += f"; {target.name} does not compute with {'bf16' if native else 'f16 and bf16'}: use lw.f32"
            return


def text_of(f: Function, target: Target, after: str = "") -> str:
    """The text of a function at whatever stage it is, with the notes of the pass that has just run; where no name is given, that of the stage."""
    from loopwright.ir.text import print_function

    notes: Any = None
    if f.analysis is not None:
        listed = target.passes()
        name = after if any(each.name == after for each in listed) else f.stage
        for each in listed:
            if each.name == name and each.notes is not None:
                notes = each.notes(f)
    return print_function(f, target, notes) if notes else print_function(f, target)


def _text_or_nothing(f: Function, target: Target) -> str:
    try:
        return text_of(f, target)
    except Exception as error:  # noqa: BLE001 - the text is an extra of another error, which must not get lost
        return f"(no text: {error})"


def compile(function: Function, target: Target, settings: Settings | None = None, *, ordering: str | None = None) -> Compiled:
    """Compile a function for a target: all passes.

    Args:
        function: as the front end made it, or parsed from text; it is not changed.
        target: what to compile for.
        settings: the order of the filters, whether to prove the register allocation (``regalloc.checker``), whether to keep the text after every
            pass in ``Compiled.stages``, and passes of the user's own; None for as the environment says. The target it names is not looked at.
        ordering: the order alone, where there is nothing else to set.

    Raises:
        TargetError: bad ordering, or a pass that has no place.
        UnsupportedOperationError: the target lacks an operation for a type.
    """
    told = resolve(settings if ordering is None else Settings(ordering=ordering).over(settings or Settings()))
    times: dict[str, float] = {}
    stages: dict[str, str] | None = {} if told.keep else None
    order: str = told.ordering
    if RECORDERS:
        for recorder in tuple(RECORDERS):
            recorder(_fitting(function, target), target, order)
    listed = target.passes()
    if told.passes is not None and told.passes != ():
        listed = with_insertions(listed, told.passes, target.name)
    f = _through(function, target, listed, len(listed), told, times, stages)
    return Compiled(function, f, f.machine, target, order, times, stages if stages is not None else {}, listed)


def _record_where_told(function: Function, target: Target, order: str) -> None:
    """Stands in ``RECORDERS`` until the first compilation; then the recorder for the environment's file takes its place."""
    import importlib

    # By name: the recorder stands above the compiler.
    recording = importlib.import_module("loopwright.corpus.recording")
    recorder: Callable[[Function, Target, str], None] = recording.from_environment(os.environ[ENVIRONMENT_RECORD])
    if _record_where_told in RECORDERS:
        RECORDERS[RECORDERS.index(_record_where_told)] = recorder
    recorder(function, target, order)


if os.environ.get(ENVIRONMENT_RECORD):
    RECORDERS.append(_record_where_told)
