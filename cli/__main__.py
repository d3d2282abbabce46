"""Entry point of `python -m twixt`. A wheel has this file as `twixt/__main__.py`. In a checkout, the entry point is
`twixt.py`."""

import sys

from twixt_viewer import main

if __name__ == "__main__":
    sys.exit(main())
