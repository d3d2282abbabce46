"""What is seen through: which rows, their order from back to front, their draw calls."""
