"""The page of `cairn serve`: rooms over the services, drawn by NiceGUI from the server.

A page calls `cairn.service` as a route does, for the caller that its cookie names, and shows the same stream of events.
"""
