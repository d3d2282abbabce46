"""How finely frames are drawn where a processor draws: levels, and who chooses between them."""
