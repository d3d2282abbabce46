"""Slowdown of loops by a viewer. guest, mujoco_rows: the benches; watched_loop: the measured programs."""
