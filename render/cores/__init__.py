"""This package shares the processor cores and measures their use. sharing, load: sharing of cores between viewer and
physics process. priority: scheduling of the viewer's threads. thread_time: running and waiting times of threads, and
the time of a frame by cause."""
