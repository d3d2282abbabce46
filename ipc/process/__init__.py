"""Code that affects a whole process. fork closes resources in forked children. interrupts detects Ctrl-C. notices
prints
messages on standard error. user_code imports the user's modules and reports their errors."""
