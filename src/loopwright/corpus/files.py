"""Corpora: compilations recorded as self-contained contexts, in one file, the same bytes on every machine.

A context is all that one compilation depends on: the function's text, the target with its vector width and calling
convention, and the order of the register selection filters. Its identity is the SHA-256 of just that, so two programs
that compile the same thing on two machines record the same context once.

A corpus file (``.lwc``) has up to four parts::

    loopwright corpus 1 INDEX DATA\\n      sizes of the next two parts, in bytes
    index                                 bz2: JSON lines, a row for each context: what it is, its features, where it lies
    data, newline                         bz2 blocks of JSON lines, one context a line
    journal                               JSON lines, appended by whoever is recording

A file that is still being recorded is all journal. :func:`pack` sorts the contexts, drops duplicates, and writes the first
three parts. Compression is bz2 because its output, unlike zlib's, does not depend on which library does it.
"""

from __future__ import annotations

import bz2
import contextlib
import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import IO, Any, Final

from loopwright.corpus.features import Features, features_of_text
from loopwright.errors import LoopwrightError

__all__ = ["Contents", "Context", "CorpusError", "Row", "append", "merge", "pack", "read", "read_index", "write"]

_MAGIC: Final = "loopwright corpus 1 "
_HEAD: Final = re.compile(rb"loopwright corpus ([0-9]{1,9}) ([0-9]{1,15}) ([0-9]{1,15})\n")
#: Contexts that share a block: reading one of them decompresses as many.
_BLOCK: Final = 128

#: Bytes that the parts of a file may have in all once they are decompressed: a few kilobytes of bz2 can say that they are gigabytes.
_MOST: Final = 1 << 30

#: What the identity is made of.
_IDENTITY: Final = ("convention", "function", "ordering", "target", "vector_bits")


class CorpusError(LoopwrightError, ValueError):
    """A file that is no corpus, or a damaged one."""


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _members(line: str | bytes) -> dict[str, Any]:
    """A line's members. Raises ``CorpusError`` when it is no object of JSON."""
    try:
        value = json.loads(line)
    except RecursionError:
        raise CorpusError("nested too deeply") from None
    if not isinstance(value, dict):
        raise CorpusError("not an object of JSON")
    return value


def _text(members: dict[str, Any], name: str) -> str:
    value = members.get(name)
    if not isinstance(value, str):
        raise CorpusError(f"{name} is missing" if value is None else f"{name} is no string")
    if not value.isascii():
        # (Half of a surrogate pair is none of Unicode's characters.)
        value.encode()
    return value


def _number(members: dict[str, Any], name: str) -> int:
    value = members.get(name)
    if type(value) is not int or not 0 <= value < 1 << 53:
        raise CorpusError(f"{name} is missing" if value is None else f"{name} is no number of things")
    return value


@dataclass(frozen=True, slots=True)
class Context:
    """One compilation, self-contained.

    Attributes:
        function: the text of the function given to the compiler; its source file's name without folders.
        target: the target's name.
        vector_bits: width of its vectors; 0 for none.
        convention: its calling convention.
        ordering: the order of the register selection filters, canonical.
        collection: what it belongs to in summaries.
        name: what it is called in them; the function's name if nothing better is known.
        version: the loopwright that recorded it.
        identity: SHA-256 of the first five, in hexadecimal.
    """

    function: str
    target: str
    vector_bits: int
    convention: str
    ordering: str
    collection: str = ""
    name: str = ""
    version: str = ""
    identity: str = field(init=False, default="")

    def __post_init__(self) -> None:
        text = _canonical({name: getattr(self, name) for name in _IDENTITY})
        object.__setattr__(self, "identity", hashlib.sha256(text.encode()).hexdigest())

    def line(self) -> str:
        """The context as one line of JSON."""
        return _canonical(
            {
                "collection": self.collection,
                "convention": self.convention,
                "function": self.function,
                "id": self.identity,
                "name": self.name,
                "ordering": self.ordering,
                "target": self.target,
                "vector_bits": self.vector_bits,
                "version": self.version,
            }
        )

    @staticmethod
    def of_line(line: str | bytes) -> Context:
        """The context of a line. Raises ``CorpusError`` when it is none, or does not have the identity it says."""
        try:
            d = _members(line)
            text = [_text(d, name) for name in ("function", "target", "convention", "ordering", "collection", "name", "version", "id")]
            function, target, convention, ordering, collection, name, version, identity = text
            made = Context(function, target, _number(d, "vector_bits"), convention, ordering, collection, name, version)
        except ValueError as error:
            raise CorpusError(f"a line that is no context ({error})") from None
        if made.identity != identity:
            raise CorpusError(f"the context {made.name} does not have the identity it is filed under: it was changed")
        return made

    def sort_key(self) -> tuple[str, str, str, int, str, str]:
        """Contexts lie in a file in this order; like ones together compress best."""
        return (self.collection, self.name, self.target, self.vector_bits, self.convention, self.identity)


@dataclass(frozen=True, slots=True)
class Row:
    """What the index says of a context, without its function.

    ``identity`` to ``version`` are the context's; ``function`` is the function's name.
    """

    identity: str
    collection: str
    name: str
    function: str
    target: str
    vector_bits: int
    convention: str
    ordering: str
    version: str
    features: Features
    block: int = -1
    at: int = 0
    size: int = 0

    @staticmethod
    def of(context: Context) -> Row:
        """The row of a context."""
        c = context
        try:
            name, features = features_of_text(c.function, c.target, c.vector_bits, c.convention)
        except LoopwrightError:
            # This version cannot read it (another may); it is listed all the same, and fails when it is replayed.
            name, features = c.name, Features(0, 0, 0, 0, 0, 0, 0, 0)
        return Row(c.identity, c.collection, c.name, name, c.target, c.vector_bits, c.convention, c.ordering, c.version, features)

    def line(self) -> str:
        """The row as one line of JSON."""
        return _canonical(
            {
                "at": self.at,
                "block": self.block,
                "collection": self.collection,
                "convention": self.convention,
                "features": self.features.as_dict(),
                "function": self.function,
                "id": self.identity,
                "name": self.name,
                "ordering": self.ordering,
                "size": self.size,
                "target": self.target,
                "vector_bits": self.vector_bits,
                "version": self.version,
            }
        )

    @staticmethod
    def of_line(line: str) -> Row:
        """The row of a line. Raises ``CorpusError`` when it is none."""
        d = _members(line)
        counts = d.get("features")
        if not isinstance(counts, dict):
            raise CorpusError("a row without features")
        return Row(
            _text(d, "id"),
            _text(d, "collection"),
            _text(d, "name"),
            _text(d, "function"),
            _text(d, "target"),
            _number(d, "vector_bits"),
            _text(d, "convention"),
            _text(d, "ordering"),
            _text(d, "version"),
            Features(**{feature.name: _number(counts, feature.name) for feature in fields(Features)}),
            _number(d, "block"),
            _number(d, "at"),
            _number(d, "size"),
        )


Keep = Callable[[Row], bool]


@dataclass(slots=True)
class Contents:
    """What a file holds.

    Attributes:
        rows, contexts: parallel, in the file's order, without duplicates.
        damaged: lines of the journal that a killed process left unfinished.
    """

    rows: list[Row]
    contexts: list[Context]
    damaged: int = 0


# --- writing -----------------------------------------------------------------------------------------------------


def _packed(contexts: Iterable[Context], rows: dict[str, Row]) -> bytes:
    """The bytes of a file with these contexts; ``rows`` that are known already spare the analysis."""
    first: dict[str, Context] = {}
    for context in sorted(contexts, key=Context.sort_key):
        first.setdefault(context.identity, context)
    chosen = list(first.values())
    index: list[str] = []
    offsets: list[list[int]] = []
    data = b""
    for block, start in enumerate(range(0, len(chosen), _BLOCK)):
        raw = bytearray()
        for context in chosen[start : start + _BLOCK]:
            line = context.line().encode() + b"\n"
            row = rows.get(context.identity)
            if row is None or (row.collection, row.name, row.version) != (context.collection, context.name, context.version):
                row = Row.of(context)
            index.append(replace(row, block=block, at=len(raw), size=len(line)).line())
            raw += line
        part = bz2.compress(bytes(raw), 9)
        offsets.append([len(data), len(part)])
        data += part
    header = _canonical({"blocks": offsets, "contexts": len(chosen)})
    packed_index = bz2.compress("\n".join([header, *index, ""]).encode(), 9)
    return f"{_MAGIC}{len(packed_index)} {len(data)}\n".encode() + packed_index + data + b"\n"


def write(path: str | os.PathLike[str], contexts: Iterable[Context], rows: Iterable[Row] = ()) -> int:
    """Write a corpus, packed, in place of whatever the file held; the number of contexts.

    The same contexts give the same bytes, whatever their order.
    """
    known = {row.identity: row for row in rows}
    made = list(contexts)
    with _locked(path) as handle:
        _replace(path, handle, _packed(made, known))
    return len({context.identity for context in made})


def pack(path: str | os.PathLike[str]) -> int:
    """Turn the journal of a recorded file into index and blocks, without duplicates; the number of contexts."""
    with _locked(path) as handle:
        contents = _read(handle, str(path), None)
        _replace(path, handle, _packed(contents.contexts, {row.identity: row for row in contents.rows}))
    return len(contents.contexts)


def append(path: str | os.PathLike[str], contexts: Sequence[Context]) -> None:
    """Append contexts to a file's journal; safe with other threads and processes that append to it or pack it.

    Raises:
        CorpusError: the file cannot be written, or something else than a corpus is in it.
    """
    text = "".join([context.line() + "\n" for context in contexts]).encode()
    with _locked(path) as handle:
        size = handle.seek(0, os.SEEK_END)
        if size:
            handle.seek(0)
            _head(handle.read(64), str(path))
            handle.seek(size - 1)
            if handle.read(1) != b"\n":
                # Somebody was killed in the middle of a line.
                text = b"\n" + text
        handle.seek(0, os.SEEK_END)
        try:
            while text:
                text = text[handle.write(text) :]
        except OSError as error:
            raise CorpusError(f"{path} cannot be written: {error.strerror}") from None


@contextlib.contextmanager
def _locked(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """The file (made if need be) open for reading and writing, for us alone until the end."""
    while True:
        try:
            handle = open(path, "r+b", buffering=0)  # noqa: SIM115 (closed below, or given back)
        except FileNotFoundError:
            try:
                with contextlib.suppress(FileExistsError), open(path, "xb"):
                    pass
            except OSError as error:
                raise CorpusError(f"{path} cannot be made: {error.strerror}") from None
            continue
        except OSError as error:
            raise CorpusError(f"{path} cannot be written: {error.strerror}") from None
        try:
            try:
                _lock(handle)
            except OSError as error:
                raise CorpusError(f"{path} cannot be locked: {error.strerror}") from None
            # A packing process may have put a new file in the old one's place while we waited.
            if os.path.exists(path) and os.path.samestat(os.fstat(handle.fileno()), os.stat(path)):
                yield handle
                return
        finally:
            handle.close()


def _lock(handle: IO[bytes]) -> None:
    try:
        import fcntl
    except ImportError:
        # Elsewhere than on POSIX only the process's own threads are kept apart (by the recorder's lock).
        return
    fcntl.flock(handle.fileno(), fcntl.LOCK_EX)


def _replace(path: str | os.PathLike[str], handle: IO[bytes], data: bytes) -> None:
    """Put ``data`` in the file's place in one step: a reader sees the old file or the new one."""
    temporary = f"{os.fspath(path)}.{os.getpid()}.new"
    try:
        with open(temporary, "wb") as out:
            out.write(data)
        os.chmod(temporary, os.fstat(handle.fileno()).st_mode & 0o777)
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            raise CorpusError(f"{path} cannot be written: {error.strerror}") from None
        raise


# --- reading -----------------------------------------------------------------------------------------------------


def _head(start: bytes, name: str) -> re.Match[bytes] | None:
    """The head of a packed file, from its first bytes; None for one that is all journal. Raises ``CorpusError`` for any other file."""
    if not start or start[:1] == b"{":
        return None
    head = _HEAD.match(start)
    if head is None:
        damaged = start.startswith(_MAGIC.encode())
        raise CorpusError(f"{name} is damaged: its first line is {start[:64]!r}" if damaged else f"{name} is not a corpus: it begins with {start[:20]!r}")
    if head[1] != b"1":
        raise CorpusError(f"{name} is a corpus of format {int(head[1])}; this loopwright reads format 1")
    return head


class _Unpacker:
    """Decompresses the parts of one file, up to a number of bytes in all."""

    def __init__(self) -> None:
        self.left = _MOST

    def __call__(self, packed: bytes) -> bytes:
        """Raises ``CorpusError`` for what is not one whole stream of bz2."""
        stream = bz2.BZ2Decompressor()
        try:
            raw = stream.decompress(packed, self.left + 1)
        except OSError as error:
            raise CorpusError(str(error)) from None
        self.left -= len(raw)
        if self.left < 0:
            raise CorpusError(f"it holds more than {_MOST} bytes")
        if not stream.eof or stream.unused_data:
            raise CorpusError("compressed data does not end where it should")
        return raw


@dataclass(slots=True)
class _Packed:
    """A file's packed parts: (begin, size) of each block, the index's rows, where the journal begins."""

    blocks: list[tuple[int, int]]
    rows: list[Row]
    journal: int


def _index(handle: IO[bytes], name: str, unpack: _Unpacker) -> _Packed:
    """What the head and the index say. Raises ``CorpusError``."""
    handle.seek(0)
    head = _head(handle.read(64), name)
    if head is None:
        return _Packed([], [], 0)
    begin, size = head.end(), int(head[2])
    data = begin + size
    journal = data + int(head[3]) + 1
    length = handle.seek(0, os.SEEK_END)
    if journal > length:
        raise CorpusError(f"{name} is damaged: its first line says that {journal} bytes follow, and the file has {length}")
    handle.seek(begin)
    try:
        header, *lines = unpack(handle.read(size)).decode().splitlines() or [""]
        said = _members(header)
        rows = [Row.of_line(line) for line in lines]
        blocks = _blocks(said.get("blocks"), data, journal - 1)
        if said.get("contexts") != len(rows) or len({row.identity for row in rows}) != len(rows):
            raise CorpusError("rows are missing, or there twice")
        if any(row.block >= len(blocks) for row in rows):
            raise CorpusError("a row of a block that is not there")
    except ValueError as error:
        raise CorpusError(f"{name} is damaged: its index cannot be read ({error})") from None
    return _Packed(blocks, rows, journal)


def _blocks(said: object, begin: int, end: int) -> list[tuple[int, int]]:
    """Where the blocks of the data between ``begin`` and ``end`` lie: one behind the other."""
    if not isinstance(said, list):
        raise CorpusError("blocks are missing")
    found: list[tuple[int, int]] = []
    at = begin
    for block in said:
        if not isinstance(block, list) or [type(number) for number in block] != [int, int] or block[0] != at - begin or not 0 < block[1] <= end - at:
            raise CorpusError("blocks that do not lie one behind the other")
        found.append((at, block[1]))
        at += block[1]
    if at != end:
        raise CorpusError("data that belongs to no block")
    return found


def _kept_contexts(handle: IO[bytes], name: str, packed: _Packed, kept: list[Row], unpack: _Unpacker) -> list[Context]:
    """The contexts of rows, in their order. Raises ``CorpusError``."""
    contexts: list[Context] = []
    block = -1
    raw = b""
    try:
        for row in sorted(kept, key=lambda row: row.block):
            if row.block != block:
                block = row.block
                at, size = packed.blocks[block]
                handle.seek(at)
                raw = unpack(handle.read(size))
            context = Context.of_line(raw[row.at : row.at + row.size])
            if context.identity != row.identity:
                raise CorpusError(f"the index has {context.name} under another identity")
            contexts.append(context)
    except CorpusError as error:
        raise CorpusError(f"{name} is damaged: {error.message}") from None
    except ValueError as error:
        raise CorpusError(f"{name} is damaged: {error}") from None
    place = {context.identity: context for context in contexts}
    return [place[row.identity] for row in kept]


def _journal(handle: IO[bytes], begin: int) -> tuple[list[Context], int]:
    handle.seek(begin)
    found: list[Context] = []
    damaged = 0
    for line in handle.read().split(b"\n"):
        if line:
            try:
                found.append(Context.of_line(line))
            except CorpusError:
                damaged += 1
    return found, damaged


def _read(handle: IO[bytes], name: str, keep: Keep | None, functions: bool = True) -> Contents:
    unpack = _Unpacker()
    try:
        packed = _index(handle, name, unpack)
        kept = [row for row in packed.rows if keep is None or keep(row)]
        contexts = _kept_contexts(handle, name, packed, kept, unpack) if functions else []
        journal, damaged = _journal(handle, packed.journal)
    except OSError as error:
        raise CorpusError(f"{name} cannot be read: {error.strerror}") from None
    seen = {row.identity for row in packed.rows}
    for context in journal:
        if context.identity not in seen:
            seen.add(context.identity)
            row = Row.of(context)
            if keep is None or keep(row):
                kept.append(row)
                contexts.append(context)
    return Contents(kept, contexts, damaged)


def _open(path: str | os.PathLike[str]) -> IO[bytes]:
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode):
            return open(path, "rb")
    except OSError as error:
        raise CorpusError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise CorpusError(f"{os.fspath(path)!r} cannot be read: {error}") from None
    raise CorpusError(f"{path} cannot be read: it is {'a directory' if stat.S_ISDIR(mode) else 'no regular file'}")


def read(path: str | os.PathLike[str], keep: Keep | None = None) -> Contents:
    """The contexts of a file, those only for whose rows ``keep`` holds.

    A context without a collection belongs to one of the file's name.

    Raises:
        CorpusError: the file cannot be read, is no corpus, or is damaged.
    """
    stem = Path(path).stem
    with _open(path) as handle:
        contents = _read(handle, str(path), None if keep is None else lambda row: keep(_collected(row, stem)))
    contents.rows = [_collected(row, stem) for row in contents.rows]
    contents.contexts = [context if context.collection else replace(context, collection=stem) for context in contents.contexts]
    return contents


def _collected(row: Row, stem: str) -> Row:
    return row if row.collection else replace(row, collection=stem)


def read_index(path: str | os.PathLike[str], keep: Keep | None = None) -> list[Row]:
    """The rows of a file's index (and of its journal); nothing else of it is decompressed."""
    stem = Path(path).stem
    with _open(path) as handle:
        rows = [_collected(row, stem) for row in _read(handle, str(path), None, False).rows]
    return [row for row in rows if keep is None or keep(row)]


def merge(paths: Iterable[str | os.PathLike[str]], output: str | os.PathLike[str]) -> tuple[int, int, int]:
    """Join corpora into one packed file without duplicates; (contexts read, contexts written, unfinished lines left out)."""
    contexts: list[Context] = []
    rows: list[Row] = []
    damaged = 0
    for path in paths:
        contents = read(path)
        contexts += contents.contexts
        rows += contents.rows
        damaged += contents.damaged
    return len(contexts), write(output, contexts, rows), damaged
