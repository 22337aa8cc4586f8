-- Blanks answers that cite a document, in the transaction that deletes it. Returns how many runs were touched.
-- A definer function, because row security would keep the planner from the GIN index on document_ids.
CREATE OR REPLACE FUNCTION rag.forget_document(document uuid) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, rag, public, pg_temp
AS $$
DECLARE touched integer;
BEGIN
  UPDATE runs SET answer = (answer - 'text' - 'insufficiencies') || jsonb_build_object('source_deleted_at', now())
  WHERE tenant_id = current_tenant() AND document_ids @> ARRAY[document] AND NOT answer ? 'source_deleted_at';
  GET DIAGNOSTICS touched = ROW_COUNT;
  RETURN touched;
END
$$;

COMMENT ON FUNCTION rag.forget_document IS 'Blanks traced answers of the current tenant that cite a deleted document.';
