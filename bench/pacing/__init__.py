"""Plays the pacer on model displays in virtual time: `python -m bench pacing`. `laboratory` has the command, and
`cases` has the targets. `displays` and `works` have the models of displays and of work. `play` plays one run, and
has the contestants for comparison. `pacing_page` makes the tables. A clock is read only to measure the cost of the
pacer's own calls. Equal seeds give equal figures on every machine.
"""
