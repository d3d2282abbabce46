"""The overlay: panels and words over the picture. Importing this folder alone loads nothing that draws."""
