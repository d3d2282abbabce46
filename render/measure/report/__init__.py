"""The report of a run: tables, plots, limits, comparisons."""
