"""Makes the data of the plans' tests at the speed of a load: an HNSW graph that is built once takes a second, and one that each
of thousands of rows is inserted into takes a minute. Its graph is a narrow one, which costs less: plans do not depend on how
well it finds. Keys of words wait in the list of their index until all are there, a fifth of the time; the index itself stays
while tables are filled, since making one tells PostgreSQL how many rows a table has that was never analysed."""

from __future__ import annotations

_DROP = """
CREATE TEMP TABLE dropped AS SELECT i.indexrelid::regclass::text AS name, pg_get_indexdef(i.indexrelid) AS definition
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
WHERE a.amname = 'hnsw' AND i.indrelid = 'rag.embeddings'::regclass;
DO $$ DECLARE one record; BEGIN
  FOR one IN SELECT name FROM dropped LOOP EXECUTE 'DROP INDEX ' || one.name; END LOOP;
END $$;
ALTER INDEX rag.lexical_index_keys_idx SET (fastupdate = on);
SET gin_pending_list_limit = '512MB';
"""
_MAKE = r"""
DO $$ DECLARE one record; BEGIN
  FOR one IN SELECT definition FROM dropped LOOP
    EXECUTE regexp_replace(one.definition, '( WITH \([^)]*\))?( WHERE |$)', ' WITH (m = 8, ef_construction = 16)\2');
  END LOOP;
END $$;
ALTER INDEX rag.lexical_index_keys_idx SET (fastupdate = off);
SELECT gin_clean_pending_list('rag.lexical_index_keys_idx'), gin_clean_pending_list('rag.passages_search_vector_idx');
RESET gin_pending_list_limit;
"""


def with_late_index(filling: str) -> str:
    """The statements, between which no approximate index is kept and keys of words are only put aside."""
    return _DROP + filling + _MAKE
