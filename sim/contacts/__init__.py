"""Contacts between spheres and walls: found, grouped, solved."""
