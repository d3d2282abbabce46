"""A point that `twixt doctor` examined, with its grade."""

from __future__ import annotations

from typing import NamedTuple

GOOD, USABLE, BAD = "good", "usable", "bad"


class Verdict(NamedTuple):
    """One point examined: good, usable (it works, with the drawback that `says` names) or bad."""

    point: str
    grade: str
    says: str
