"""`twixt.show`. view: the public class; publishing: publishes states; viewer_input: actions of the viewers' users.

session: host and viewer; shown_bodies: state between publishes; loop_warnings: warnings to the user.
"""
