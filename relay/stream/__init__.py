"""The stream to far viewers: messages, records, and which message is sent when. Pure: no socket, no clock."""
