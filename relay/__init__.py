"""Guests that neither step nor draw: they read a simulation's snapshots and pass them on, for example to browsers.

Imports only `twixt.ipc`.
"""
