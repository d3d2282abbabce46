"""Engines: viewers in the words of each engine's own users, each in a folder of its own and behind its extra."""
