"""The database as the rooms above see it: tenant transactions, nothing else."""

from cairn.db.pool import Database, savepoint, stream
from cairn.db.replicas import reading_contents, reads_contents

__all__ = ["Database", "reading_contents", "reads_contents", "savepoint", "stream"]
