"""Code shared by both processes; imports the standard library and numpy alone. scene, snapshot, plan, commands,
interaction: the values that travel. ring: shared memory. session: sockets. system: the operating system's calls.
config, process, trace, errors, quantiles: configuration, forks and user code, `--profile`, errors, statistics."""
