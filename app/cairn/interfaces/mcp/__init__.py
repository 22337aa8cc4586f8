"""Cairn for agents: tools, resources and prompts of the Model Context Protocol, over HTTP (`/mcp`) and stdio (`cairn mcp`).

tooling.py what a tool is; toolbox.py all of them, and their calls; asking, finding, writing: what they do; shapes.py what they
give; resources.py, prompts.py; server.py: the SDK's server made of these; http.py: at /mcp;
protected.py: where an agent gets a token for that.
"""
