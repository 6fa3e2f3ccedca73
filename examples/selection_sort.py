"""Selection sort of int32, in place: nested scalar loops, a branch, and variables that loops change.

python examples/selection_sort.py
loopwright show examples/selection_sort.py:selection_sort
loopwright show examples/selection_sort.py:selection_sort --target rv64gc
"""

import numpy as np

import loopwright as lw


@lw.kernel
def selection_sort(x: lw.Array[lw.i32]):
    for i in lw.range(len(x)):
        least = x[i]
        place = i
        for j in lw.range(i + 1, len(x)):
            if x[j] < least:
                least = x[j]
                place = j
        x[place] = x[i]
        x[i] = least


def main() -> None:
    random = np.random.default_rng(1)
    for length in (0, 1, 2, 3, 17, 1000):
        x = random.integers(-(2**31), 2**31, length).astype(np.int32)
        expected = np.sort(x)
        selection_sort(x)
        assert np.array_equal(x, expected), length

    x = np.array([5, -3, 5, 0, 2**31 - 1, -(2**31)], np.int32)
    selection_sort(x)
    print("sorted:", x)


if __name__ == "__main__":
    main()
