"""Makes the data of the plans' tests at the speed of a load: an HNSW graph that is built once takes a second, and one that each
of thousands of rows is inserted into takes a minute. Its graph is a narrow one, which costs less: plans do not depend on how
well it finds."""

from __future__ import annotations

_DROP = """
CREATE TEMP TABLE dropped AS SELECT i.indexrelid::regclass::text AS name, pg_get_indexdef(i.indexrelid) AS definition
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
WHERE a.amname = 'hnsw' AND i.indrelid = 'rag.embeddings'::regclass;
DO $$ DECLARE one record; BEGIN
  FOR one IN SELECT name FROM dropped LOOP EXECUTE 'DROP INDEX ' || one.name; END LOOP;
END $$;
"""
_MAKE = r"""
DO $$ DECLARE one record; BEGIN
  FOR one IN SELECT definition FROM dropped LOOP
    EXECUTE regexp_replace(one.definition, '( WITH \([^)]*\))?( WHERE |$)', ' WITH (m = 8, ef_construction = 16)\2');
  END LOOP;
END $$;
"""


def with_late_index(filling: str) -> str:
    """The statements, between which no approximate index is kept."""
    return _DROP + filling + _MAKE
