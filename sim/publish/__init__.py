"""Publishes snapshots. `publisher` writes snapshots into the channel and counts them. `limits` restricts their rate
and their memory.

`delay_line` delays snapshots artificially. `matching` assigns bodies to records.
"""
