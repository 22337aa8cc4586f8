"""A file per room. Each draws itself into the frame and calls `cairn.service` for what it shows and does."""
