"""Ways of placing frames, one module each."""
