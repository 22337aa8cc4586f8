"""The statements that make all tables in an empty database, out of their declarations (cairn/db/tables).

A database that exists gets what it lacks by the revisions under migrations/. Imported only where there is something to make.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import create_mock_engine

from cairn.db.schema import SchemaSource
from cairn.db.tables import metadata


def creation_statements(source: SchemaSource) -> list[str]:
    """Tables, keys, indexes, domains and comments, and that the result is at the newest revision."""
    statements = [source.configurations.text.strip().removesuffix(";")]

    def note(statement: Any, *_: Any, **__: Any) -> None:
        statements.append(str(statement.compile(dialect=engine.dialect)).strip())

    engine = create_mock_engine("postgresql+asyncpg://", note)
    metadata.create_all(engine, checkfirst=False)
    revisions = ", ".join(f"('{revision}', {breaks})" for revision, breaks in sorted(source.breaking.items()))
    return [
        *statements,
        f"INSERT INTO rag.schema_revisions (revision, breaking) VALUES {revisions}",
        f"INSERT INTO rag.alembic_version (version_num) VALUES ('{source.head}')",
    ]
