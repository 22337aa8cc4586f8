-- What operators want to know of the database that the serving role may not read.

CREATE OR REPLACE FUNCTION rag.schema_revision() RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, rag, pg_temp
AS $$
BEGIN
    RETURN (SELECT string_agg(version_num, ', ' ORDER BY version_num) FROM rag.alembic_version);
END
$$;
COMMENT ON FUNCTION rag.schema_revision() IS
    'As the owner: the revision that the tables were migrated to, for /health/ready.';
