"""Publishing. publisher: snapshots into the channel, counters; limits: rates and memory; delay_line: late snapshots.

matching: which record a body has.
"""
