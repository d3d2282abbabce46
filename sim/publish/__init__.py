"""Publishing of snapshots. publisher: writes snapshots into the channel and counts them; limits: limits on rate and
memory.

delay_line: artificially delayed snapshots; matching: assignment of bodies to records.
"""
