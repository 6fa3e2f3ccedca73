"""Random kernels, compared on every target with what plain Python over NumPy scalars makes of them.

``python -m tests.random_kernels --count 10000 --jobs 2`` is the long run; ``test_random_kernels.py`` has a part of it in every run.
"""
