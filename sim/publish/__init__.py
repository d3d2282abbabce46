"""Publishing. publisher: writes snapshots into the channel, counts them; limits: rates and memory.

delay_line: artificially delayed snapshots; matching: assignment of bodies to records.
"""
