"""Kernels ahead of time: object files and C headers of Python files (``loopwright build``)."""
