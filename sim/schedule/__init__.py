"""Timing of physics. schedule: when steps begin and are due; step_multiple: longer steps under load, step logs."""
