"""`import cairn.client`: a client of the HTTP API (docs/clients.md); the code is app.client."""

from app.client import *
