"""The overlay: panels, labels and notes over the picture. Importing this folder alone loads nothing that draws."""
