"""`twixt.show`. view: the public class; publishing: its states; viewer_input: users' actions; session: host and viewer.

shown_bodies, body_records, shown_surfaces: state between publishes; loop_warnings: warnings to the user.
"""
