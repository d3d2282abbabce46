"""Contains the physics process and what it needs. `world` has bodies and their checks, `worlds` the built-in worlds,
and `contacts` computes collisions.

`schedule` decides when steps begin and are due. `publish` writes snapshots into the channel. `process` runs a world.
`show` publishes from a user's own loop. `engines` has viewers for physics engines.
"""
