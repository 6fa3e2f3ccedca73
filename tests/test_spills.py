"""What the benchmark of spills counts: on both sides loads and stores of spilled values, weighted by the loops around them."""

from __future__ import annotations

import pytest
from benchmarks import spills

from loopwright.ir.text import parse
from loopwright.targets import registry

V3 = registry.get("x86-64-v3")

# In the shape of llc's output: a spill before a loop of two, a folded reload in the inner one, a constant, and a block that leaves.
ASSEMBLY = """
f:
# %bb.0:
	movq	%rdi, -8(%rsp)                  # 8-byte Spill
	jle	.LBB0_4
.LBB0_1:                                # =>This Loop Header: Depth=1
                                        #     Child Loop BB0_2 Depth 2
	movq	-8(%rsp), %rax                  # 8-byte Reload
.LBB0_2:                                #   Parent Loop BB0_1 Depth=1
                                        # =>  This Inner Loop Header: Depth=2
	vaddps	-40(%rsp), %ymm0, %ymm0         # 32-byte Folded Reload
	vmulps	.LCPI0_0(%rip), %ymm0, %ymm0
	jne	.LBB0_2
# %bb.3:                                #   in Loop: Header=BB0_1 Depth=1
	vmovups	%ymm0, -40(%rsp)                # 32-byte Spill
	jne	.LBB0_1
.LBB0_4:
	movq	-8(%rsp), %rax                  # 8-byte Reload
	retq
"""


def test_llvm_s_spills_are_read_from_its_comments() -> None:
    count = spills.read_spills(ASSEMBLY)
    assert count.stores == 1 + 8
    assert count.loads == 8 + 64 + 1
    assert count.constants == 64
    assert count.spills == 82


def _sums(count: int) -> str:
    """A loop that changes ``count`` variables, each by the one before it, all wanted after it."""
    lines = [f"  var %v{k}: i64" for k in range(count)]
    lines += [f"  %v{k} = add.i64 %n, {k}" for k in range(count)]
    lines += ["  %i = for 0, %n, 1"]
    lines += ["    %v0 = xor.i64 %v0, %i", *(f"    %v{k} = xor.i64 %v{k}, %v{k - 1}" for k in range(1, count))]
    lines += ["  end", "  %t0 = xor.i64 %v0, %n"]
    lines += [f"  %t{k} = xor.i64 %t{k - 1}, %v{k}" for k in range(1, count)]
    return "\n".join(["function sums(%n: i64) -> i64", *lines, f"  ret.i64 %t{count - 1}", "end"])


def test_our_spills_are_those_of_the_allocated_code() -> None:
    assert spills.ours(parse(_sums(8)), V3).spills == 0
    # 15 registers for 20 variables, the counter and its bound: seven at least are loaded and stored in each turn, which weighs 8.
    crowded = spills.ours(parse(_sums(20)), V3)
    assert crowded.loads >= 7 * 8
    assert crowded.stores >= 7 * 8
    assert crowded.spills <= 16 * 20


def test_both_are_counted_on_the_same_function() -> None:
    pytest.importorskip("llvmlite")
    f = parse(_sums(20))
    theirs = spills.llvm(f, V3)
    assert theirs.spills > 0
    assert spills.ours(f, V3).spills <= 1.1 * theirs.spills
    assert spills.llvm(parse(_sums(8)), V3).spills == 0


def test_the_functions_compared_are_the_corpus_and_the_crowded_ones() -> None:
    names = [(collection, name) for collection, name, _ in spills.functions(V3)]
    assert len(names) == len(set(names))
    assert sum(collection == "kernels" for collection, _ in names) > 150
    assert ("pressed", "stencil 13x13") in names
