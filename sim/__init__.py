"""The physics process: worlds, schedule, publishing, and the user's own loop."""
