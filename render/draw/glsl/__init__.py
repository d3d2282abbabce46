"""GLSL that several programs share."""
