"""What all tables are made of: the metadata, columns and keys that many have."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Integer,
    MetaData,
    Table,
    Text,
    event,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, UUID
from sqlalchemy.types import TypeEngine

SCHEMA = "rag"


metadata = MetaData(
    schema=SCHEMA,
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
        "ck": "%(table_name)s_%(constraint_name)s_check",
    },
)


DOMAINS = {"uuid_list": "uuid[]", "float8_list": "double precision[]", "text_list": "text[]"}
"""Types of arguments that clients send in binary, as they received them (cairn/store/arrays.py)."""


def _also(target: MetaData | Table, when: str, statement: str) -> None:
    """What SQLAlchemy has no words for."""
    event.listen(target, when, lambda _, connection, **__: connection.execute(text(statement)))


for _name, _array in DOMAINS.items():
    _also(metadata, "before_create", f"CREATE DOMAIN {SCHEMA}.{_name} AS {_array}")
    _said = "An argument that a client sends in binary, as array_send gave it."
    _also(metadata, "before_create", f"COMMENT ON DOMAIN {SCHEMA}.{_name} IS '{_said}'")


def uncompressed(table: Table, *columns: str) -> Table:
    """Values of these columns are stored as they are: nobody tries to compress them."""
    actions = ", ".join(f"ALTER {name} SET STORAGE EXTERNAL" for name in columns)
    _also(table, "after_create", f"ALTER TABLE {table.fullname} {actions}")
    return table


NOW = text("now()")


EMPTY_OBJECT = text("'{}'::jsonb")


ORDERED = Text(collation="C")
"""Text whose prefixes are a range of an index, whatever the collation of the database."""


def tenant_id() -> Column[int]:
    return Column("tenant_id", BigInteger, nullable=False, comment="Tenant that owns the row (rag.tenants.id).")


def col(name: str, kind: TypeEngine[Any] | type[TypeEngine[Any]], comment: str, **more: Any) -> Column[Any]:
    more.setdefault("nullable", False)
    return Column(name, kind, comment=comment, **more)


def moment(name: str, comment: str, **more: Any) -> Column[Any]:
    return col(name, DateTime(timezone=True), comment, **more)


def count(name: str, comment: str, kind: type[TypeEngine[Any]] = Integer) -> Column[Any]:
    return col(name, kind, comment, server_default=text("0"))


def json_object(name: str, comment: str) -> Column[Any]:
    return col(name, JSONB, comment, server_default=EMPTY_OBJECT)


def collection_id() -> Column[Any]:
    return col("collection_id", UUID, "The collection.")


def collection_key() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["tenant_id", "collection_id"], ["rag.collections.tenant_id", "rag.collections.id"], ondelete="CASCADE"
    )


def document_key() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["tenant_id", "document_id"], ["rag.documents.tenant_id", "rag.documents.id"], ondelete="CASCADE"
    )


def passage_key() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["tenant_id", "passage_id"], ["rag.passages.tenant_id", "rag.passages.id"], ondelete="CASCADE"
    )


def entity_key(column: str = "entity_id") -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["tenant_id", column],
        ["rag.entities.tenant_id", "rag.entities.id"],
        ondelete="CASCADE",
    )


def refers(columns: list[str], table: str, others: list[str]) -> ForeignKeyConstraint:
    """Rows go with the one that they refer to."""
    return ForeignKeyConstraint(columns, [f"rag.{table}.{name}" for name in others], ondelete="CASCADE")
