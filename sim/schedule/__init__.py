"""Controls the timing of the physics process. `schedule` decides when steps begin and are due. `step_multiple` makes
steps longer under load, and reads and writes step logs."""
