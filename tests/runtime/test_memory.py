"""Executable memory: never writable and executable at once, shared by small functions, given back, safe across threads and forks."""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
import random
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable

import pytest

from loopwright.runtime import memory

pytestmark = pytest.mark.skipif(not memory._arenas_work, reason="needs Linux on x86-64")


def returns(value: int) -> bytes:
    """mov eax, imm32; ret"""
    return b"\xb8" + value.to_bytes(4, "little") + b"\xc3"


def function(block: memory.Block) -> Callable[[], int]:
    return ctypes.CFUNCTYPE(ctypes.c_uint32)(block.address)


def mappings() -> list[tuple[int, int, str, str]]:
    """(start, end, permissions, device and inode) of everything mapped."""
    found = []
    with open("/proc/self/maps") as lines:
        for line in lines:
            span, permissions, _, device, inode, *_ = line.split()
            start, _, end = span.partition("-")
            found.append((int(start, 16), int(end, 16), permissions, f"{device} {inode}"))
    return found


def test_code_runs() -> None:
    block = memory.allocate(returns(42))
    assert function(block)() == 42
    assert block.read() == returns(42)


def test_no_page_is_writable_and_executable_by_any_mapping() -> None:
    # Before, while and after something is written. (ctypes callbacks of other tests may have left pages of libffi's that are both.)
    before = {m for m in mappings() if "w" in m[2] and "x" in m[2]}
    seen = []
    blocks = [memory.allocate(returns(k)) for k in range(50)]
    blocks.append(memory.allocate(6, fill=lambda address: (seen.append(mappings()), returns(1))[1]))
    seen.append(mappings())
    for found in seen:
        here = [m for m in found if m[0] <= blocks[-1].address < m[1]]
        assert [m[2] for m in here] == ["r-xs"]
        assert not [m for m in found if m[3] == here[0][3] and "w" in m[2]], "the same pages are mapped writable elsewhere"
        assert {m for m in found if "w" in m[2] and "x" in m[2]} <= before


def test_code_cannot_be_written_through_its_address() -> None:
    # In a process of its own, since it is meant to die of it.
    program = "from loopwright.runtime import memory; import ctypes; b = memory.allocate(b'\\xc3'); ctypes.memset(b.address, 0x90, 1)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == -11


def test_small_functions_share_a_page_but_no_cache_line() -> None:
    blocks = [memory.allocate(returns(k)) for k in range(8)]
    assert len({b.address // memory.LINE for b in blocks}) == 8
    assert all(b.address % memory.LINE == 0 for b in blocks)
    # In a process of its own: in this one, functions that other tests have freed may have left room on several pages.
    program = (
        "from loopwright.runtime import memory\nblocks = [memory.allocate(b'\\xc3') for k in range(8)]\nprint(len({b.address // memory.PAGE for b in blocks}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    )
    assert done.stdout == "1\n"


def test_what_surrounds_a_function_traps() -> None:
    block = memory.allocate(returns(1))
    line = ctypes.string_at(block.address, memory.LINE)
    assert line == returns(1) + b"\xcc" * (memory.LINE - 6)


def test_freed_memory_is_filled_with_traps_and_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_arenas", [])
    # Up to the last three lines.
    before = memory.allocate(b"\xcc" * (memory.ARENA_SIZE - 3 * memory.LINE))
    keep = memory.allocate(returns(1))
    block = memory.allocate(returns(2))
    address = block.address
    block.free()
    assert ctypes.string_at(address, memory.LINE) == b"\xcc" * memory.LINE
    block.free()
    last = memory.allocate(returns(3))
    again = memory.allocate(returns(4))
    assert (again.address, last.address) == (address, address + memory.LINE)
    assert (function(again)(), function(last)(), function(keep)()) == (4, 3, 1)
    assert before.size == memory.ARENA_SIZE - 3 * memory.LINE


def test_memory_is_freed_with_its_owner() -> None:
    gc.collect()
    before = memory.statistics().used
    block = memory.allocate(returns(1))
    assert memory.statistics().used == before + memory.LINE
    del block
    assert memory.statistics().used == before


def test_free_ranges_join() -> None:
    arena = memory._Arena(memory.PAGE * 4)
    try:
        taken = [arena.take(64, 64) for _ in range(10)]
        for offset in (taken[3], taken[5], taken[4], taken[0], taken[9], *taken[1:3], *taken[6:9]):
            arena.give(offset, 64)
        assert (arena.starts, arena.lengths) == ([0], [memory.PAGE * 4])
    finally:
        arena.unmap()


@pytest.mark.parametrize("align", [1, 64, 128, 1024, 4096])
def test_alignment(align: int) -> None:
    blocks = [memory.allocate(returns(k), align) for k in range(5)]
    assert all(b.address % align == 0 for b in blocks)
    assert [function(b)() for b in blocks] == list(range(5))


def test_random_allocation_keeps_every_function_intact() -> None:
    choose = random.Random(7)
    live: list[tuple[memory.Block, int, int]] = []
    for k in range(600):
        if live and choose.random() < 0.45:
            live.pop(choose.randrange(len(live)))
        else:
            size = choose.choice((6, 60, 64, 65, 500, 5000))
            live.append((memory.allocate(returns(k).ljust(size, b"\x90"), choose.choice((1, 64, 256))), k, size))
    spans = sorted((b.address, b.address + size) for b, _, size in live)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    assert [function(b)() for b, _, _ in live] == [k for _, k, _ in live]


def test_a_function_larger_than_an_arena_has_one_of_its_own_and_gives_it_back() -> None:
    before = memory.statistics()
    block = memory.allocate(returns(9).ljust(3 << 20, b"\x90"))
    assert function(block)() == 9
    assert memory.statistics().mapped >= before.mapped + (3 << 20)
    block.free()
    assert memory.statistics().mapped == before.mapped


def test_bytes_may_depend_on_the_address() -> None:
    # lea rax, [rip-7] gives the function's own address; so must the one written in: movabs rax, imm64
    def fill(address: int) -> bytes:
        return b"\x48\xb8" + address.to_bytes(8, "little") + b"\xc3"

    block = memory.allocate(11, fill=fill)
    assert ctypes.CFUNCTYPE(ctypes.c_uint64)(block.address)() == block.address


def test_a_fill_that_fails_leaks_nothing() -> None:
    def fill(address: int) -> bytes:
        raise KeyError("no")

    gc.collect()
    before = memory.statistics().used
    with pytest.raises(KeyError):
        memory.allocate(10, fill=fill)
    with pytest.raises(ValueError, match="10 bytes were announced, 3 came"):
        memory.allocate(10, fill=lambda address: b"abc")
    gc.collect()
    assert memory.statistics().used == before


@pytest.mark.parametrize(("data", "align"), [(b"", 64), (b"\xc3", 3), (b"\xc3", 1 << 20), (5, 64)])
def test_nonsense_is_refused(data: bytes | int, align: int) -> None:
    with pytest.raises(ValueError, match=r"."):
        memory.allocate(data, align)


def test_threads_allocate_run_and_free_while_others_execute_the_same_pages() -> None:
    stop = time.monotonic() + 0.7
    wrong: list[object] = []

    def work(number: int) -> None:
        choose = random.Random(number)
        mine: list[tuple[memory.Block, Callable[[], int], int]] = []
        while time.monotonic() < stop:
            value = choose.randrange(1 << 30)
            block = memory.allocate(returns(value))
            mine.append((block, function(block), value))
            wrong.extend(v for _, call, v in mine if call() != v)
            if len(mine) > 20:
                del mine[choose.randrange(len(mine))]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_freeing_inside_a_collection_during_allocation_does_not_deadlock() -> None:
    block = memory.allocate(returns(1))
    with memory._lock:
        block.free()
    before = memory.statistics().used
    memory.allocate(returns(2)).free()
    assert memory.statistics().used == before


def fork(child: Callable[[], bool]) -> bool:
    """What ``child`` returned in a forked process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        good = False
        try:
            good = child()
        finally:
            os._exit(0 if good else 1)
    return os.waitpid(pid, 0)[1] == 0


def test_after_a_fork_neither_process_disturbs_the_other() -> None:
    shared = memory.allocate(returns(5))
    reader, writer = os.pipe()

    def child() -> bool:
        os.close(writer)
        # Freeing and allocating here must not change the parent's code; then the parent does the same.
        mine = [memory.allocate(returns(100 + k)) for k in range(20)]
        os.read(reader, 1)
        return function(shared)() == 5 and [function(b)() for b in mine] == [100 + k for k in range(20)]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        good = False
        try:
            good = child()
        finally:
            os._exit(0 if good else 1)
    mine = [memory.allocate(returns(200 + k)) for k in range(20)]
    address = shared.address
    shared.free()
    more = [memory.allocate(returns(300 + k)) for k in range(20)]
    assert address not in {b.address for b in more}
    os.close(reader)
    os.close(writer)
    assert os.waitpid(pid, 0)[1] == 0
    assert [function(b)() for b in mine + more] == [*range(200, 220), *range(300, 320)]


def test_a_descriptor_closed_by_somebody_else_is_never_written_to(tmp_path: object) -> None:
    def child() -> bool:
        block = memory.allocate(returns(1))
        fds = [arena.fd for arena in memory._arenas if arena.fd >= 0]
        for fd in fds:
            os.close(fd)
        path = os.path.join(str(tmp_path), "victim")
        victims = [os.open(path + str(n), os.O_RDWR | os.O_CREAT) for n in range(len(fds))]
        if set(victims) != set(fds):
            return False
        other = memory.allocate(returns(2))
        block_value = function(block)()
        block.free()
        return (block_value, function(other)()) == (1, 2) and all(os.path.getsize(path + str(n)) == 0 for n in range(len(fds)))

    assert fork(child)


def test_a_program_without_standard_input_has_an_arena_like_any_other() -> None:
    def child() -> bool:
        # The file gets the lowest number there is.
        os.close(0)
        memory._arenas.clear()
        blocks = [memory.allocate(returns(n)) for n in (1, 2)]
        return [arena.fd for arena in memory._arenas] == [0] and [function(block)() for block in blocks] == [1, 2]

    assert fork(child)


def test_only_memory_that_held_code_before_is_written_with_a_serialising_instruction(monkeypatch: pytest.MonkeyPatch) -> None:
    # Intel SDM, vol. 3A, section 9.1.3: a processor may have fetched what was there.
    times: list[int] = []
    monkeypatch.setattr(memory, "_serialise", lambda: times.append(1))
    monkeypatch.setattr(memory, "_arenas", [])
    blocks = [memory.allocate(returns(1)) for _ in range(memory.ARENA_SIZE // memory.LINE - 1)]
    address = blocks[0].address
    blocks[0].free()
    # Space that has held no code comes first.
    last = memory.allocate(returns(2))
    assert last.address == blocks[-1].address + memory.LINE
    assert times == []
    again = memory.allocate(returns(3))
    assert again.address == address
    assert len(times) == 1
    assert len(memory._arenas) == 1


def test_pages_of_one_function_where_there_is_no_memfd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_arenas_work", False)
    before = memory.statistics()
    block = memory.allocate(returns(77))
    assert function(block)() == 77
    assert [m[2] for m in mappings() if m[0] <= block.address < m[1]] == ["r-xp"]
    assert memory.statistics().used == before.used + memory.PAGE
    address = block.address
    del block
    assert memory.statistics().used == before.used
    assert not [m for m in mappings() if m[0] <= address < m[1] and "x" in m[2]]


def test_a_system_that_forbids_executable_files_gets_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(memory, "_memfd", refuse)
    monkeypatch.setattr(memory, "_arenas", [])
    monkeypatch.setattr(memory, "_arenas_work", True)
    block = memory.allocate(returns(78))
    assert function(block)() == 78
    assert memory._arenas_work is False
    block.free()
