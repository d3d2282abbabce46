"""Worlds. world: base class; bodies, columns, marks, surfaces: their state; tracking: detects writes to arrays.

field_checks, state_checks, world_guard: checks of values, of a state, of a whole world.
"""
