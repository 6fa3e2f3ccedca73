"""Loopwright's benchmarks: one module for each question, see README.md beside this file."""

from benchmarks.machine import one_thread

# Before NumPy is imported for the first time: its BLAS reads this once.
one_thread()
