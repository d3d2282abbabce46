"""Entry of `python -m twixt` in a wheel, as `twixt/__main__.py`. In a checkout the entry is `twixt.py`."""

import sys

import twixt

if __name__ == "__main__":
    sys.exit(twixt.main())
