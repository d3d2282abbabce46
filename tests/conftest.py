"""What every test may ask for: the displays of `tests/displays/rigs.py`.

Properties are tried without a clock: how fast a busy machine makes examples is nobody's fault.
"""

from hypothesis import HealthCheck, settings

from tests.displays.rigs import sway_display, sway_rig, xvfb_display, xvfb_screen

__all__ = ["sway_display", "sway_rig", "xvfb_display", "xvfb_screen"]

settings.register_profile("untimed", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
