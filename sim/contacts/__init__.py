"""Contacts between spheres and walls. contact_list: finds and groups them; solver: their impulses."""
