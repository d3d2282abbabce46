"""Code that both processes share. This package imports only the standard library and numpy.

scene, snapshot, plan, commands and interaction define values that are sent between the processes. ring publishes and
reads snapshots in shared memory. session sends messages over sockets. system makes the system calls. config defines
and checks the configuration. process handles forks and the user's code. trace records the spans for `--profile`.
errors defines errors and exit codes. quantiles computes statistics.
"""
