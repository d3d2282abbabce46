"""The physics process. world: bodies and their checks; worlds: the built-in ones; contacts: collisions.

schedule: instants of steps; publish: snapshots into the channel; process: the run; show: publishing from a user's own
loop; engines: viewers for physics engines.
"""
