"""The retry policy that the contract tests use."""

from cairn.providers.retry import RetryPolicy

QUICK = RetryPolicy(attempts=3, base_seconds=0.01, longest_seconds=2.0)
"""As the product's, but its backoff is not waited for."""
