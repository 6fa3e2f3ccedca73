"""Edit distance: the table of dynamic programming as one writes it, each entry made of its three neighbours.

Each entry waits for the one to its left. The compiler sees that entries of several rows can be made beside each other, and says so.

python examples/edit_distance.py
loopwright show examples/edit_distance.py:edit_distance --nests
loopwright show examples/edit_distance.py:edit_distance --nests-page nests.html
"""

import numpy as np

import loopwright as lw


@lw.kernel
def edit_distance(x: lw.Array[lw.u8], y: lw.Array[lw.u8], table: lw.Array[lw.i32, 2]):
    """``table[i, j]``: how many letters to insert, remove or exchange for ``x[:i]`` to become ``y[:j]``."""
    for i in lw.range(table.shape[0]):
        table[i, 0] = i
    for j in lw.range(table.shape[1]):
        table[0, j] = j
    for i in lw.range(1, table.shape[0]):
        for j in lw.range(1, table.shape[1]):
            exchanged = table[i - 1, j - 1] + lw.i32(x[i - 1] != y[j - 1])
            inserted = table[i, j - 1] + 1
            removed = table[i - 1, j] + 1
            table[i, j] = lw.min(exchanged, lw.min(inserted, removed))


def letters(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8)


def distance(x: str, y: str) -> int:
    table = np.empty((len(x) + 1, len(y) + 1), np.int32)
    edit_distance(letters(x), letters(y), table)
    return int(table[-1, -1])


def main() -> None:
    assert distance("kitten", "sitting") == 3
    assert distance("", "four") == 4
    assert distance("same", "same") == 0

    random = np.random.default_rng(1)
    x, y = (random.integers(97, 101, n).astype(np.uint8) for n in (90, 70))
    table = np.empty((91, 71), np.int32)
    expected = np.empty((91, 71), np.int32)
    edit_distance(x, y, table)
    edit_distance.function(x, y, expected)
    assert np.array_equal(table, expected)
    print("distance:", table[-1, -1])


if __name__ == "__main__":
    main()
