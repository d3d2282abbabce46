"""These modules draw marks. `mark_solids` converts the marks of a snapshot to solids and lines. `mark_drawing` draws
them."""
