"""Drawing with OpenGL 3.3. Outside the benches only these modules import moderngl."""
