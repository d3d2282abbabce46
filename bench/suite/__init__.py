"""`python -m bench`: groups of rows measured, shown, written, compared."""
