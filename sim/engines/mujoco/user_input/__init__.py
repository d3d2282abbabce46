"""Actions of viewers' users that a MuJoCo program receives: forces of the mouse, and keys."""
