"""The world: the base class for users, bodies and columns, and the checks of them."""
