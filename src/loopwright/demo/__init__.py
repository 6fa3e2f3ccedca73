"""The demo: three picture kernels on a real photograph, checked, timed, and their inner loops listed.

``kernels.py`` holds the kernels, ``photograph.py`` reads and writes pictures, ``run.py`` does the rest.
"""
