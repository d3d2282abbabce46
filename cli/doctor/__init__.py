"""`twixt doctor`: what this machine can do for a smooth picture."""
