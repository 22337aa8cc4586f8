"""The database as the rooms above see it: tenant transactions, nothing else."""

from cairn.db.pool import Database, savepoint, stream
from cairn.db.replicas import again_on_primary, at_primary, one_direction

__all__ = ["Database", "again_on_primary", "at_primary", "one_direction", "savepoint", "stream"]
