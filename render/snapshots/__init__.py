"""Snapshots on arrival: fetched, prepared for drawing, kept."""
