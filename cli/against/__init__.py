"""`twixt measure --against`: runs two sets of flags in turns, and tests whether their figures differ."""
