"""`import cairn`: Cairn as a library (docs/library.md). Installed under that name; the code is app.facade."""

from app.facade import *
