"""Ways to answer: each a coroutine of a run. Agents are those that ask a model what to do next."""
