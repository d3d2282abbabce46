"""A ring of snapshots in shared memory: one writer that never waits, and any number of readers unknown to it.

The one idea: a reader can always get the two newest snapshots, complete (double buffering), from a ring of N slots.
Slot k mod N holds snapshot k until k+N is written. A reader checks a slot's sequence word before and after use, and
discards what was overwritten meanwhile.

Why two slots are too few: while one is written, only one complete snapshot exists. With three a reader must finish
both before the writer starts again. With N it has N-2 publish intervals for the older of the pair, so N is 4 to 16
(`layout`), as many as a bounded memory allows.

Always: snapshots are numbered 1, 2, 3, ..., across segments; a reader delivers each number once at most,
in order; readers write no word, so a stopped, killed or hostile one affects neither the writer nor other readers.

Growth, without a lost or torn snapshot: the larger segment first gets the last two snapshots under their own
numbers, and the plan and scene version; then the old one's successor word is set. Nothing is written in the old one
after that, so that all it holds stays readable. A reader delivers what it has not read from the old one first, however
late it is, and the rest from the new one.

Each side imports its own modules alone: physics `writer`, a viewer `reader`. Not here: why each store and load stands
in its place (`sequence`), how segments reach a viewer (`client`).
"""
