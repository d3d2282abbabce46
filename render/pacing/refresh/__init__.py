"""Refreshes of the display: how long they are and where they lie, learned from swaps and presents."""
