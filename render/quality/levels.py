"""How finely a picture is drawn: levels from the finest to the cheapest, each leaving out a little more.

The one idea: a level is a set of switches that drawing obeys, and what it saves was measured: the share of the level
before that a frame of it takes. The governor begins with these shares and learns the run's own.

Always: LEVELS[0] is the picture as it should be; every later level includes what those before it left out.
"""

from __future__ import annotations

from typing import NamedTuple


class Level(NamedTuple):
    """One level. left_out: what it leaves out beyond the one before, for the user; "" for the finest.

    share: of a frame of the level before, what a frame of this one takes.
    """

    name: str
    left_out: str = ""
    share: float = 1.0
    shadows: bool = True  # of bodies on the ground
    fine: bool = True  # bodies with smooth edges, highlights and borders
    skin: bool = True  # bodies with a pattern, and depths of their own


FULL = Level("full")
# Shares: drawing of the default world at 800x600 on llvmpipe, processor time, levels in turns. Of 10,000 small bodies
# and more each step saves less than 4 %: they are drawn as cheaply as there is already.
LEVELS = (
    FULL,
    Level("no shadows", "no soft shadows", 0.82, shadows=False),
    Level("plain", "hard edges, no highlights", 0.80, shadows=False, fine=False),
    Level("flat", "no pattern, one depth a body", 0.77, shadows=False, fine=False, skin=False),
)
CHEAPEST = LEVELS[-1]
# Where cores are short, as far as this without being asked by the display: what is coarser is seen at once.
SPARING = 2
