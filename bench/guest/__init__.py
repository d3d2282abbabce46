"""`python -m bench guest`: how much a viewer slows down a loop that never waits (`watched_loop`)."""
