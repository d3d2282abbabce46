"""Shared by the two processes: vocabulary, channel, session, configuration. Standard library and numpy alone."""
