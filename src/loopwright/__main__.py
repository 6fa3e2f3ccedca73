"""``python -m loopwright``: the command line of ``loopwright.cli``."""

import sys

from loopwright.cli import main

if __name__ == "__main__":
    sys.exit(main())
