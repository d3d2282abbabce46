"""How much a viewer slows a loop down. guest, mujoco_rows: the benches; watched_loop: the measured programs."""
