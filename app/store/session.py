"""The database as the rooms above see it: tenant transactions, nothing else."""

from app.db.pool import Database, savepoint, stream

__all__ = ["Database", "savepoint", "stream"]
