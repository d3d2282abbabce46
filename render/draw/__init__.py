"""Drawing with OpenGL 3.3: the only modules that import moderngl."""
