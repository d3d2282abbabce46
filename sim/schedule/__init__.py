"""Time of physics. schedule: instants of steps and due times; step_multiple: wider steps under load, step logs."""
