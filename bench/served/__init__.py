"""Measures what the browser view costs: a loop that it slows down, and the time, bytes and memory of its server."""
