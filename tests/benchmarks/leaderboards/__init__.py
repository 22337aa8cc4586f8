"""What others publish figures for, measured in their own metrics: `make leaderboards` (docs/leaderboards.md)."""
