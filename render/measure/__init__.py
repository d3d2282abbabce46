"""Frame log, figures of a run, causes of bad frames, report and plots."""
