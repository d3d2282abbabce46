"""The server of the browser view: one port for the page and its two WebSockets."""
