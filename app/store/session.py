"""The database as the rooms above see it: tenant transactions, nothing else."""

from app.db.pool import Database

__all__ = ["Database"]
