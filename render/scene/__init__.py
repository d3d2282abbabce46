"""stage: all pictures of the window. views: one picture. groups: bodies that share draw time and method.
frames_in_time, shapes_in_time: changes of parents and shapes over simulated time. camera, trails, labels,
user_drawing: the camera and everything drawn in addition to the bodies.
"""
