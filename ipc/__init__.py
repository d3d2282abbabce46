"""Code that both processes share. Imports only the standard library and numpy.

scene, snapshot, plan, commands, interaction: values sent between the processes. ring: shared memory. session: sockets.
system: system calls. config: configuration. process: forks, user code. trace: `--profile`. errors: errors and exit
codes. quantiles: statistics.
"""
