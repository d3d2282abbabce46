"""Drawing paths for contexts in which the CPU draws: there pixels are expensive and copies of memory cheap."""
