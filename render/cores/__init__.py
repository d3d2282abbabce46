"""Processor cores. sharing, load: cores shared between viewer and physics; priority: scheduling of the viewer's
threads; thread_time: running and waiting times of threads, and a frame's time by cause."""
