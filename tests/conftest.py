"""What every test may ask for: the displays of `tests/displays/rigs.py`."""

from tests.displays.rigs import sway_display, sway_rig, xvfb_display, xvfb_screen

__all__ = ["sway_display", "sway_rig", "xvfb_display", "xvfb_screen"]
