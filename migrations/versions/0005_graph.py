"""The knowledge graph: entities, their names, mentions, relations, evidence, adjacency, merges, communities, extractions.

BREAKING says whether code that does not know this revision must refuse to serve the database. It need not: what older code
publishes has no graph until it is indexed again, and what it deletes takes its part of the graph along.
"""

import sqlalchemy as sa
from alembic import op
from pgvector.sqlalchemy import HALFVEC
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None
BREAKING = False


def upgrade() -> None:
    op.create_table(
        "communities",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="The collection."),
        sa.Column("id", sa.UUID(), nullable=False, comment="Community id."),
        sa.Column("level", sa.Integer(), nullable=False, comment="0: not part of a larger one; 1: part of one of level 0, ..."),
        sa.Column(
            "parent_id", sa.UUID(), nullable=True, comment="Community of the level before that it is part of; null at level 0."
        ),
        sa.Column("entity_count", sa.Integer(), server_default=sa.text("0"), nullable=False, comment="Entities in it when made."),
        sa.Column(
            "sentence_count",
            sa.Integer(),
            server_default=sa.text("0"),
            nullable=False,
            comment="Sentences chosen for it; when fewer are left, it is summarised anew.",
        ),
        sa.Column(
            "fingerprint",
            sa.LargeBinary(),
            server_default=sa.text("''::bytea"),
            nullable=False,
            comment="Hash of its entities and of the weights between them.",
        ),
        sa.Column(
            "title", sa.Text(), server_default=sa.text("''"), nullable=False, comment="What a model calls it; empty: none did."
        ),
        sa.Column(
            "summary", sa.Text(), server_default=sa.text("''"), nullable=False, comment="What a model wrote; empty: none did."
        ),
        sa.Column(
            "document_ids",
            postgresql.ARRAY(sa.UUID()),
            server_default=sa.text("'{}'::uuid[]"),
            nullable=False,
            comment="Documents that the model read; the deletion of one blanks what it wrote.",
        ),
        sa.Column("epoch", sa.BigInteger(), nullable=False, comment="Epoch of the collection that it was made from."),
        sa.Column(
            "summarised_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When a model summarised it; null: not yet, or blanked.",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "collection_id"],
            ["rag.collections.tenant_id", "rag.collections.id"],
            name=op.f("communities_tenant_id_collection_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("communities_pkey")),
        schema="rag",
        comment="Groups of closely related entities, with summaries.",
    )
    op.create_index("communities_collection_idx", "communities", ["tenant_id", "collection_id"], unique=False, schema="rag")
    op.create_table(
        "community_refreshes",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="The collection."),
        sa.Column(
            "attempt",
            sa.BigInteger(),
            nullable=False,
            comment="Number of refreshes begun; an older one that still runs writes nothing any more.",
        ),
        sa.Column(
            "epoch",
            sa.BigInteger(),
            server_default=sa.text("0"),
            nullable=False,
            comment="Epoch of the collection that the last finished one read.",
        ),
        sa.Column(
            "refreshed_at", sa.DateTime(timezone=True), nullable=True, comment="When the last one finished; null: none did."
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "collection_id"],
            ["rag.collections.tenant_id", "rag.collections.id"],
            name=op.f("community_refreshes_tenant_id_collection_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "collection_id", name=op.f("community_refreshes_pkey")),
        schema="rag",
        comment="How far the communities of a collection follow its documents.",
    )
    op.create_table(
        "entities",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="The collection."),
        sa.Column(
            "id",
            sa.UUID(),
            nullable=False,
            comment="Hash of collection, family and normal form: the same name has it again after a deletion.",
        ),
        sa.Column(
            "family",
            sa.Text(),
            nullable=False,
            comment="Kinds that may be the same thing share one: a normal form is one entity of a family.",
        ),
        sa.Column(
            "normal",
            sa.Text(collation="C"),
            nullable=False,
            comment="Normal form of the name, by which mentions are taken for the same thing.",
        ),
        sa.Column(
            "kind",
            sa.Text(),
            nullable=False,
            comment="Most frequent kind of its mentions: person, organisation, place, term, class, function...",
        ),
        sa.Column("name", sa.Text(), nullable=False, comment="Most frequent name of its mentions, as written."),
        sa.Column(
            "passage_count",
            sa.Integer(),
            nullable=False,
            comment="Passages that name it, exact.",
        ),
        sa.Column(
            "implied_count",
            sa.Integer(),
            server_default=sa.text("0"),
            nullable=False,
            comment="Passages that only imply it (a title, a pronoun), exact. It goes with the last of both.",
        ),
        sa.Column(
            "canonical_id",
            sa.UUID(),
            nullable=False,
            comment="Entity that stands for it in the graph: itself, unless it was merged into another.",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "collection_id"],
            ["rag.collections.tenant_id", "rag.collections.id"],
            name=op.f("entities_tenant_id_collection_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("entities_pkey")),
        sa.UniqueConstraint(
            "tenant_id",
            "collection_id",
            "normal",
            "family",
            name=op.f("entities_tenant_id_collection_id_normal_family_key"),
        ),
        schema="rag",
        comment="Things that passages speak of, and symbols of code.",
    )
    op.create_index(
        "entities_merged_idx",
        "entities",
        ["tenant_id", "canonical_id"],
        unique=False,
        schema="rag",
        postgresql_where=sa.text("canonical_id <> id"),
    )
    op.create_table(
        "entity_merges",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="The collection."),
        sa.Column("id", sa.UUID(), nullable=False, comment="Merge id (UUIDv7)."),
        sa.Column(
            "entity_id",
            sa.UUID(),
            nullable=False,
            comment="The entity that was merged; it may be gone by now, and is merged again if it comes back.",
        ),
        sa.Column("into_id", sa.UUID(), nullable=False, comment="The entity that stands for it."),
        sa.Column("reason", sa.Text(), nullable=False, comment="Why, or by what method."),
        sa.Column(
            "merged_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False, comment="When."
        ),
        sa.Column(
            "undone_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When it was undone; null while it is in force.",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "collection_id"],
            ["rag.collections.tenant_id", "rag.collections.id"],
            name=op.f("entity_merges_tenant_id_collection_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("entity_merges_pkey")),
        schema="rag",
        comment="Log of entities merged by hand or by similarity; each can be undone.",
    )
    op.create_index(
        "entity_merges_entity_idx",
        "entity_merges",
        ["tenant_id", "entity_id"],
        unique=True,
        schema="rag",
        postgresql_where=sa.text("undone_at IS NULL"),
    )
    op.create_index(
        "entity_merges_into_idx",
        "entity_merges",
        ["tenant_id", "into_id"],
        unique=False,
        schema="rag",
        postgresql_where=sa.text("undone_at IS NULL"),
    )
    op.create_table(
        "relations",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="The collection."),
        sa.Column("id", sa.UUID(), nullable=False, comment="Hash of source, kind and target."),
        sa.Column(
            "source_id",
            sa.UUID(),
            nullable=False,
            comment="The entity it goes out from; of a symmetric relation the one with the smaller id.",
        ),
        sa.Column(
            "kind",
            sa.Text(),
            nullable=False,
            comment="co_occurs (symmetric), contains, imports, calls, inherits, or what a pattern or model found.",
        ),
        sa.Column("target_id", sa.UUID(), nullable=False, comment="The entity it leads to."),
        sa.Column(
            "evidence_count",
            sa.Integer(),
            nullable=False,
            comment="Passages that prove it, exact. It goes with the last one.",
        ),
        sa.Column(
            "strength", sa.BigInteger(), nullable=False, comment="Sum of the strengths of its evidence, in thousandths."
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "collection_id"],
            ["rag.collections.tenant_id", "rag.collections.id"],
            name=op.f("relations_tenant_id_collection_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("relations_pkey")),
        schema="rag",
        comment="Relations between entities, each proved by passages (rag.evidence).",
    )
    op.create_index(
        "relations_collection_idx", "relations", ["tenant_id", "collection_id"], unique=False, schema="rag"
    )
    op.create_table(
        "adjacency",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="The collection."),
        sa.Column("relation_id", sa.UUID(), nullable=False, comment="The relation."),
        sa.Column("outgoing", sa.Boolean(), nullable=False, comment="Whether the relation goes out from the node."),
        sa.Column(
            "node_id",
            sa.UUID(),
            nullable=False,
            comment="An end of the relation: the entity that stands for it after merges.",
        ),
        sa.Column("neighbour_id", sa.UUID(), nullable=False, comment="The other end, likewise."),
        sa.Column(
            "weight",
            sa.REAL(),
            nullable=False,
            comment="Association of the two ends, above 0 and below 1 (rag.association).",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "relation_id"],
            ["rag.relations.tenant_id", "rag.relations.id"],
            name=op.f("adjacency_tenant_id_relation_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "relation_id", "outgoing", name=op.f("adjacency_pkey")),
        schema="rag",
        comment="Relations as seen from each end, strongest first: what rag.graph_walk reads.",
    )
    op.create_index(
        "adjacency_node_idx",
        "adjacency",
        ["tenant_id", "node_id", sa.literal_column("weight DESC"), "neighbour_id"],
        unique=False,
        schema="rag",
        postgresql_include=["relation_id", "outgoing"],
    )
    op.create_table(
        "community_members",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="The collection."),
        sa.Column("community_id", sa.UUID(), nullable=False, comment="The community."),
        sa.Column("entity_id", sa.UUID(), nullable=False, comment="The entity."),
        sa.Column("weight", sa.REAL(), nullable=False, comment="Sum of the weights of its relations within the community."),
        sa.ForeignKeyConstraint(
            ["tenant_id", "community_id"],
            ["rag.communities.tenant_id", "rag.communities.id"],
            name=op.f("community_members_tenant_id_community_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "entity_id"],
            ["rag.entities.tenant_id", "rag.entities.id"],
            name=op.f("community_members_tenant_id_entity_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "community_id", "entity_id", name=op.f("community_members_pkey")),
        schema="rag",
        comment="Which entity belongs to which community.",
    )
    op.create_index(
        "community_members_entity_idx",
        "community_members",
        ["tenant_id", "entity_id"],
        unique=False,
        schema="rag",
    )
    op.create_table(
        "community_sentences",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="The collection."),
        sa.Column("community_id", sa.UUID(), nullable=False, comment="The community."),
        sa.Column("place", sa.Integer(), nullable=False, comment="Place in the summary, from 0."),
        sa.Column("passage_id", sa.UUID(), nullable=False, comment="The passage that it stands in; it goes with it."),
        sa.Column("char_start", sa.Integer(), nullable=False, comment="First code point in the document text."),
        sa.Column("char_end", sa.Integer(), nullable=False, comment="One past its last code point."),
        sa.ForeignKeyConstraint(
            ["tenant_id", "community_id"],
            ["rag.communities.tenant_id", "rag.communities.id"],
            name=op.f("community_sentences_tenant_id_community_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "passage_id"],
            ["rag.passages.tenant_id", "rag.passages.id"],
            name=op.f("community_sentences_tenant_id_passage_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "community_id", "place", name=op.f("community_sentences_pkey")),
        schema="rag",
        comment="Sentences that sum up a community: places in passages, no text of their own.",
    )
    op.create_index(
        "community_sentences_passage_idx",
        "community_sentences",
        ["tenant_id", "passage_id"],
        unique=False,
        schema="rag",
    )
    op.create_table(
        "entity_aliases",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="The collection."),
        sa.Column("entity_id", sa.UUID(), nullable=False, comment="The entity."),
        sa.Column("name", sa.Text(), nullable=False, comment="A name of it as written."),
        sa.Column("kind", sa.Text(), nullable=False, comment="The kind that it was taken for."),
        sa.Column(
            "form",
            sa.Text(collation="C"),
            nullable=False,
            comment="Normal form of this name; differs from that of the entity for acronyms and the like.",
        ),
        sa.Column(
            "passage_count",
            sa.Integer(),
            nullable=False,
            comment="Passages that mention it by this name as this kind, exact.",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "entity_id"],
            ["rag.entities.tenant_id", "rag.entities.id"],
            name=op.f("entity_aliases_tenant_id_entity_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "entity_id", "name", "kind", name=op.f("entity_aliases_pkey")),
        schema="rag",
        comment="Names of entities, by which questions find them.",
    )
    op.create_index(
        "entity_aliases_form_idx", "entity_aliases", ["tenant_id", "collection_id", "form"], unique=False, schema="rag"
    )
    op.create_table(
        "entity_words",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="The collection."),
        sa.Column("word", sa.Text(collation="C"), nullable=False, comment="A word of the normal form of a name."),
        sa.Column("entity_id", sa.UUID(), nullable=False, comment="The entity."),
        sa.Column("form", sa.Text(collation="C"), nullable=False, comment="The normal form that it is a word of."),
        sa.ForeignKeyConstraint(
            ["tenant_id", "entity_id"],
            ["rag.entities.tenant_id", "rag.entities.id"],
            name=op.f("entity_words_tenant_id_entity_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "tenant_id", "collection_id", "word", "entity_id", "form", name=op.f("entity_words_pkey")
        ),
        schema="rag",
        comment="Words of names, by which questions find entities that they name in part.",
    )
    op.create_index(
        "entity_words_entity_idx",
        "entity_words",
        ["tenant_id", "entity_id"],
        unique=False,
        schema="rag",
    )
    op.create_table(
        "extractions",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="The collection."),
        sa.Column(
            "document_id", sa.UUID(), nullable=False, comment="The document; what a model said of it goes with it."
        ),
        sa.Column(
            "content_hash", sa.LargeBinary(), nullable=False, comment="SHA-256 of the passage that the model read."
        ),
        sa.Column("extractor", sa.Text(), nullable=False, comment="Model, checks and prompt."),
        sa.Column(
            "result",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=False,
            comment="Entities, relations and aliases of the passage that passed the checks, and what did not.",
        ),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False, comment="When."
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "document_id"],
            ["rag.documents.tenant_id", "rag.documents.id"],
            name=op.f("extractions_tenant_id_document_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "document_id", "content_hash", "extractor", name=op.f("extractions_pkey")),
        schema="rag",
        comment="What models extracted, kept so that no text is sent twice.",
    )
    op.create_index(
        "extractions_reuse_idx", "extractions", ["tenant_id", "content_hash", "extractor"], unique=False, schema="rag"
    )
    op.create_table(
        "extraction_usage",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("day", sa.Date(), nullable=False, comment="Day of the calls (UTC)."),
        sa.Column("job_id", sa.UUID(), nullable=False, comment="Job that made them; it may be gone by now."),
        sa.Column("model", sa.Text(), nullable=False, comment="The chat model."),
        sa.Column(
            "calls", sa.Integer(), server_default=sa.text("0"), nullable=False, comment="Calls that were answered."
        ),
        sa.Column(
            "input_tokens",
            sa.BigInteger(),
            server_default=sa.text("0"),
            nullable=False,
            comment="Tokens that it read, as reported or estimated.",
        ),
        sa.Column(
            "output_tokens",
            sa.BigInteger(),
            server_default=sa.text("0"),
            nullable=False,
            comment="Tokens that it wrote, likewise.",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "day", "job_id", "model", name=op.f("extraction_usage_pkey")),
        schema="rag",
        comment="What extraction with models has cost, for the caps of graph.model.",
    )
    op.create_table(
        "entity_vectors",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="The collection."),
        sa.Column("entity_id", sa.UUID(), nullable=False, comment="The entity; its vector goes with it."),
        sa.Column("model_id", sa.SmallInteger(), nullable=False, comment="Embedding model."),
        sa.Column("name", sa.Text(), nullable=False, comment="What was embedded."),
        sa.Column("embedding", HALFVEC(), nullable=False, comment="Unit vector of the name."),
        sa.ForeignKeyConstraint(
            ["tenant_id", "entity_id"],
            ["rag.entities.tenant_id", "rag.entities.id"],
            name=op.f("entity_vectors_tenant_id_entity_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "tenant_id", "collection_id", "model_id", "entity_id", name=op.f("entity_vectors_pkey")
        ),
        schema="rag",
        comment="Vectors of names of entities, for questions that name none.",
    )
    op.create_index(
        "entity_vectors_entity_idx", "entity_vectors", ["tenant_id", "entity_id"], unique=False, schema="rag"
    )
    op.create_table(
        "evidence",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="The collection."),
        sa.Column("passage_id", sa.UUID(), nullable=False, comment="The passage that proves it."),
        sa.Column("relation_id", sa.UUID(), nullable=False, comment="The relation."),
        sa.Column(
            "strength",
            sa.Integer(),
            nullable=False,
            comment="How much it says, in thousandths: whole numbers add up the same in any order.",
        ),
        sa.Column(
            "char_start", sa.Integer(), nullable=False, comment="First code point of the proof in the document text."
        ),
        sa.Column("char_end", sa.Integer(), nullable=False, comment="One past its last code point."),
        sa.Column(
            "by_model",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="Whether a chat model found it, not the rules.",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "passage_id"],
            ["rag.passages.tenant_id", "rag.passages.id"],
            name=op.f("evidence_tenant_id_passage_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "passage_id", "relation_id", name=op.f("evidence_pkey")),
        schema="rag",
        comment="Which passage proves which relation, and where.",
    )
    op.create_index(
        "evidence_relation_idx",
        "evidence",
        ["tenant_id", "relation_id", sa.literal_column("strength DESC"), "passage_id"],
        unique=False,
        schema="rag",
    )
    op.create_table(
        "mentions",
        sa.Column("tenant_id", sa.BigInteger(), nullable=False, comment="Tenant that owns the row (rag.tenants.id)."),
        sa.Column("collection_id", sa.UUID(), nullable=False, comment="The collection."),
        sa.Column("passage_id", sa.UUID(), nullable=False, comment="The passage."),
        sa.Column("entity_id", sa.UUID(), nullable=False, comment="The entity, also when that is merged into another."),
        sa.Column("name", sa.Text(), nullable=False, comment="Its name here, as written."),
        sa.Column("kind", sa.Text(), nullable=False, comment="What it was taken for here."),
        sa.Column(
            "occurrences", sa.Integer(), nullable=False, comment="How often it stands in the passage by this name."
        ),
        sa.Column(
            "char_start",
            sa.Integer(),
            nullable=False,
            comment="First code point of the first occurrence in the document text.",
        ),
        sa.Column("char_end", sa.Integer(), nullable=False, comment="One past its last code point."),
        sa.Column("confidence", sa.REAL(), nullable=False, comment="How sure the extraction is, 0 to 1."),
        sa.Column(
            "by_model",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="Whether a chat model found it, not the rules.",
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "passage_id"],
            ["rag.passages.tenant_id", "rag.passages.id"],
            name=op.f("mentions_tenant_id_passage_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "passage_id", "entity_id", "name", "kind", name=op.f("mentions_pkey")),
        schema="rag",
        comment="Which passage mentions which entity, and where.",
    )
    op.create_index(
        "mentions_entity_idx",
        "mentions",
        ["tenant_id", "entity_id", "passage_id"],
        unique=False,
        schema="rag",
    )
    op.add_column(
        "documents",
        sa.Column(
            "extractor",
            sa.Text(),
            nullable=True,
            comment="Model and prompt whose extraction is in its graph (rag.extractions); null: rules alone.",
        ),
        schema="rag",
    )

    op.execute(
        "INSERT INTO rag.schema_revisions (revision, breaking) "
        f"VALUES ('{revision}', {BREAKING}) ON CONFLICT (revision) DO NOTHING"
    )
