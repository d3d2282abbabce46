"""Draws with OpenGL 3.3. scene_renderer draws a picture. quality chooses quality levels. transparency draws transparent
bodies. program_preparation compiles programs in idle time. Each folder draws one kind of object."""
