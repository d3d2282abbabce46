"""Finds and solves contacts between spheres, and between spheres and walls. `contact_list` finds contacts and divides
them into groups. `solver` computes their impulses."""
