"""`python -m bench guest`: slowdown of a loop that never waits, by its viewer. watched_loop: the measured program."""
