"""`python -m twixt` where it is installed: the wheel has this as `twixt/__main__.py`. In a checkout it is `twixt.py`."""

import sys

import twixt

if __name__ == "__main__":
    sys.exit(twixt.main())
