"""Worlds. world: base class; bodies, columns, marks, surfaces: their state; tracking: detects writes to arrays.

body_fields: conversion and checks of their values; state_checks, world_guard: checks of a state, of a world.
"""
