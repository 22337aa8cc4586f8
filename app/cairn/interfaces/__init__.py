"""Doors: HTTP, MCP, the page and the command line. They parse and render, and call cairn.service for everything else."""
