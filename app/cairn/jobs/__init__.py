"""Durable jobs: the queue's worker and the handlers that it runs."""
