"""Entry point of the command `twixt`, which checks that Python finds the right package `twixt`.

The package index has another package `twixt`. If it is installed too, Python may import that one, or one of the two has
replaced files of the other. So this module is outside of the package, and imports it only after the check.
"""

from __future__ import annotations

import os
import sys

# Name of the distribution, which the file of the right package contains.
MARK = b"twixt-viewer"


def main() -> int:
    """Runs the command line and returns the exit code; 2 if Python finds another package `twixt`."""
    if fault := _fault():
        print(f"twixt: {fault}", file=sys.stderr)
        return 2
    import twixt

    return twixt.main()


def _fault() -> str:
    """Describes in one line, with a remedy, that Python finds another package `twixt`. Empty for the right one."""
    # `importlib.util.find_spec` would do the same, but its import takes some ms
    specs = (finder.find_spec("twixt", None) for finder in sys.meta_path if hasattr(finder, "find_spec"))
    spec = next(filter(None, specs), None)
    found = spec.origin if spec else None
    if found is not None and _is_right(found):
        return ""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "twixt")
    uninstall = f"{sys.executable} -m pip uninstall"
    if found is None or os.path.dirname(os.path.abspath(found)) == folder:
        return (
            f"another package named 'twixt' has replaced or removed files of twixt-viewer in {folder}; "
            f"remove both with: {uninstall} twixt twixt-viewer; then install twixt-viewer again"
        )
    return f"Python imports another package named 'twixt', {found}; remove that one with: {uninstall} twixt"


def _is_right(file: str) -> bool:
    """True if `file` is the right package's, or cannot be read as a Python file, for example in an archive."""
    try:
        with open(file, "rb") as opened:
            return not file.endswith(".py") or MARK in opened.read()
    except OSError:
        return True
