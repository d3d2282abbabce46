"""The render process: its start-up, its frames and its end."""
