"""`twixt bench against`: share of correct verdicts of `twixt measure --against`."""
