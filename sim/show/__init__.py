"""`twixt.show`. view: the public class; publishing: publishes states; viewer_input: actions of the viewers' users.

session: host and viewer; shown_bodies, body_records: state between publishes; loop_warnings: warnings to the user.
"""
