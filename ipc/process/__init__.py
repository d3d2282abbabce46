"""Process-wide code. fork: closes resources in forked children. interrupts: Ctrl-C. notices: messages on standard
error. user_code: imports of the user's modules, and their errors."""
