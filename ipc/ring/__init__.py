"""A ring of snapshots in shared memory: one writer that never waits, and any number of readers unknown to it.

Modules: sequence (order of stores and loads), layout, memory and budget, slot; physics imports writer and segments, a
viewer reader and mapped_segment.

A reader can always get the two newest snapshots, complete (double buffering), from a ring of N slots. Slot k mod N
holds snapshot k until k+N is written. A reader checks a slot's sequence word before and after use, and discards a
snapshot that was overwritten meanwhile.

Two slots are too few: while one is written, only one complete snapshot exists. With three a reader must finish both
before the writer starts again. With N it has N-2 publish intervals for the older of the pair. N is 4 to 16 (`layout`),
as many as a bounded memory allows.

Always: snapshots are numbered 1, 2, 3, ..., across segments; a reader delivers each number at most once, in order;
readers write no word, so a stopped, killed or hostile reader affects neither the writer nor other readers.

Growth without a lost or torn snapshot: the last two snapshots are copied into the larger segment under their own
numbers, with the plan and the scene version; then the old segment's successor word is set. Nothing is written in the
old segment after that, so all of its snapshots stay readable. A reader, however late, first delivers the unread
snapshots of the old segment, then those of the new one.
"""
