"""C programs: clang reads them, loopwright compiles them (``loopwright cc``)."""
