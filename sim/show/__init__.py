"""Contains `twixt.show` and its parts. `view` has the public class. `publishing` publishes states. `viewer_input`
receives the actions of the viewers' users.

`session` owns the host and the viewer. `shown_bodies` keeps the state between publishes. `loop_warnings` warns the
user.
"""
