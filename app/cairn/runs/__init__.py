"""Runs under way: tasks of this process, of which resumable ones are stored as they go and can be read on any process."""
