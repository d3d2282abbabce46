"""A ring of snapshots in shared memory, with one writer and any number of readers.

The writer never waits, and does not know its readers.

Both processes import sequence (the order of stores and loads), layout, memory, budget and slot. The physics process
imports writer and segments. A viewer imports reader and mapped_segment.

The ring has N slots. Slot k mod N holds snapshot k until snapshot k+N is written. A reader can always get the two
newest complete snapshots. A reader checks a slot's sequence word before and after it uses the slot. If the writer
overwrote the snapshot between the two checks, the reader discards the snapshot.

Two slots are too few: while one is written, only one complete snapshot exists. With three slots a reader would have to
read both snapshots before the writer starts another one. With N slots the reader has N-2 publish intervals to read the
older snapshot. N is the largest number from 4 to 16 that the memory limit allows (`layout`).

Always: snapshots are numbered 1, 2, 3, ..., across segments. A reader delivers the snapshot of each number at most one
time, in ascending order of the numbers. Readers write nothing, so a stopped, killed or hostile reader affects neither
the writer nor other readers.

The ring grows without losing or tearing a snapshot. The writer copies the last two snapshots, the plan and the scene
version into the larger segment; the snapshots keep their numbers. Then the writer sets the old segment's successor
word. From then on the writer writes nothing in the old segment, so all snapshots there stay readable. Each reader,
however late, first delivers the unread snapshots of the old segment, then the snapshots of the new segment.
"""
