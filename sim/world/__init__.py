"""Defines worlds and their parts. `world` has the base class. `bodies`, `columns`, `marks` and `surfaces` hold the
state of a world. `tracking` detects writes to the arrays of the bodies.

`body_fields` converts and checks the values that are written. `state_checks` checks states, and `world_guard` checks
the members of a world.
"""
