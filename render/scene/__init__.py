"""These modules prepare what is drawn. `stage` handles all pictures of the window. `views` handles one picture.
`groups` handles bodies that share a draw time and an interpolation method. `frames_in_time` handles changes of parents
over simulated time. `shapes_in_time` handles changes of shapes over simulated time. `camera` handles the camera.
`trails`, `labels` and `user_drawing` handle everything that is drawn in addition to the bodies.
"""
