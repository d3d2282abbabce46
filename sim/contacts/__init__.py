"""Contacts between spheres and walls. contact_list: finds and groups contacts; solver: computes their impulses."""
