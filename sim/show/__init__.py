"""`twixt.show`: the user's own loop publishes the states that it computed."""
