from app.ingest.identifiers import identifier_terms
