-- Text search configurations by name. Tables keep the name and not regconfig, the number that the catalog of one server has for it: pg_upgrade
-- refuses tables with such numbers (docs/adr/0115-new-majors.md). A name without a schema is one of PostgreSQL's own, whatever the search_path
-- says; any other has its schema.

-- Immutable in the sense in which to_tsvector(regconfig, text) is: as long as nobody changes the configuration. The generated column
-- passages.search_vector needs it, so this is there before the tables (app/cairn/db/create.py).
CREATE OR REPLACE FUNCTION rag.config_named(name text) RETURNS regconfig
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  RETURN (CASE WHEN strpos(name, '.') > 0 THEN name ELSE 'pg_catalog.' || name END)::regconfig;
END
$$;
COMMENT ON FUNCTION rag.config_named IS 'Text search configuration of a name as tables keep it.';

CREATE OR REPLACE FUNCTION rag.config_name(config regconfig) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
  SELECT CASE n.nspname WHEN 'pg_catalog' THEN c.cfgname::text ELSE format('%I.%I', n.nspname, c.cfgname) END
  FROM pg_ts_config c JOIN pg_namespace n ON n.oid = c.cfgnamespace WHERE c.oid = config);
COMMENT ON FUNCTION rag.config_name IS 'Name of a text search configuration as tables keep it.';
