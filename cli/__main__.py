"""Entry of `python -m twixt` where installed: the wheel has it as `twixt/__main__.py`. In a checkout it is `twixt.py`."""

import sys

import twixt

if __name__ == "__main__":
    sys.exit(twixt.main())
