"""Entry of `python -m bench`."""

import sys

from bench.commands import main

if __name__ == "__main__":
    sys.exit(main())
