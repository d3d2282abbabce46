"""`python -m bench motion`: drawn motion compared with the truth."""
