"""`twixt bench motion`: drawn motion compared with the truth."""
