"""Processor cores. sharing, load: sharing of cores between viewer and physics. priority: scheduling of the viewer's
threads. thread_time: running and waiting times of threads, and the time of a frame by cause."""
