"""The commands of `cairn`, one module each: they call app.actions and render what these return."""
