"""Tools of the agent strategies, a file for each group of them; app/strategies/tools.py lists them all."""
