"""Configuration of a run: its fields, the rules for their values, the reading of flags."""
