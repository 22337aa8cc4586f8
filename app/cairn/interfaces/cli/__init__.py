"""The commands of `cairn`, one module each: they call cairn.service and render what these return."""
