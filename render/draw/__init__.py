"""Drawing with OpenGL 3.3. scene_renderer: draws a picture. quality: levels. transparency, materials: bodies that need
their own draw calls. program_preparation: compiles programs in idle time. Each folder draws one kind of things.
"""
