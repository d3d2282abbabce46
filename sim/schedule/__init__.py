"""The schedule: when to step, by how much, and when each snapshot is due."""
