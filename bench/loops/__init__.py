"""Measures how much a viewer slows loops down. `guest` and `mujoco_rows` are the benches. `watched_loop` has the
programs that are measured."""
