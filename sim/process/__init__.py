"""The physics process: its loop, its watchdog, its viewer."""
