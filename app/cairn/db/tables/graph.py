"""The knowledge graph.

Mentions and evidence are the truth and go with their passages; entities, names, words, relations and adjacency are
derived from them in the same transaction (sql/functions/graph.sql). Their ids are hashes of what they stand for, so that
writers need not look them up and an entity that comes back is the same one (docs/adr/0025-graph-storage.md). Ids hold
the collection already, so keys over ids leave it out: two indexes that begin with tenant and collection look alike to
a planner without statistics, and it would take either.
"""

from __future__ import annotations

from sqlalchemy import (
    REAL,
    BigInteger,
    Boolean,
    Date,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, UUID

from cairn.db.tables.base import (
    NOW,
    ORDERED,
    col,
    collection_id,
    collection_key,
    count,
    document_key,
    entity_key,
    metadata,
    moment,
    passage_key,
    tenant_id,
)

entities = Table(
    "entities",
    metadata,
    tenant_id(),
    collection_id(),
    col("id", UUID, "Hash of collection, family and normal form: the same name has it again after a deletion."),
    col("family", Text, "Kinds that may be the same thing share one: a normal form is one entity of a family."),
    col("normal", ORDERED, "Normal form of the name, by which mentions are taken for the same thing."),
    col("kind", Text, "Most frequent kind of its mentions: person, organisation, place, term, class, function..."),
    col("name", Text, "Most frequent name of its mentions, as written."),
    col("passage_count", Integer, "Passages that name it, exact."),
    count("implied_count", "Passages that only imply it (a title, a pronoun), exact. It goes with the last of both."),
    col("canonical_id", UUID, "Entity that stands for it in the graph: itself, unless it was merged into another."),
    PrimaryKeyConstraint("tenant_id", "id"),
    UniqueConstraint("tenant_id", "collection_id", "normal", "family"),
    collection_key(),
    Index(
        "entities_merged_idx",
        "tenant_id",
        "canonical_id",
        postgresql_where=text("canonical_id <> id"),
    ),
    comment="Things that passages speak of, and symbols of code.",
)


entity_aliases = Table(
    "entity_aliases",
    metadata,
    tenant_id(),
    collection_id(),
    col("entity_id", UUID, "The entity."),
    col("name", Text, "A name of it as written."),
    col("kind", Text, "The kind that it was taken for."),
    col("form", ORDERED, "Normal form of this name; differs from that of the entity for acronyms and the like."),
    col("passage_count", Integer, "Passages that mention it by this name as this kind, exact."),
    PrimaryKeyConstraint("tenant_id", "entity_id", "name", "kind"),
    entity_key(),
    Index("entity_aliases_form_idx", "tenant_id", "collection_id", "form"),
    comment="Names of entities, by which questions find them.",
)


entity_words = Table(
    "entity_words",
    metadata,
    tenant_id(),
    collection_id(),
    col("word", ORDERED, "A word of the normal form of a name."),
    col("entity_id", UUID, "The entity."),
    col("form", ORDERED, "The normal form that it is a word of."),
    PrimaryKeyConstraint("tenant_id", "collection_id", "word", "entity_id", "form"),
    entity_key(),
    Index("entity_words_entity_idx", "tenant_id", "entity_id"),
    comment="Words of names, by which questions find entities that they name in part.",
)


mentions = Table(
    "mentions",
    metadata,
    tenant_id(),
    collection_id(),
    col("passage_id", UUID, "The passage."),
    col("entity_id", UUID, "The entity, also when that is merged into another."),
    col("name", Text, "Its name here, as written."),
    col("kind", Text, "What it was taken for here."),
    col("occurrences", Integer, "How often it stands in the passage by this name."),
    col("char_start", Integer, "First code point of the first occurrence in the document text."),
    col("char_end", Integer, "One past its last code point."),
    col("confidence", REAL, "How sure the extraction is, 0 to 1."),
    col("by_model", Boolean, "Whether a chat model found it, not the rules.", server_default=text("false")),
    PrimaryKeyConstraint("tenant_id", "passage_id", "entity_id", "name", "kind"),
    passage_key(),
    Index("mentions_entity_idx", "tenant_id", "entity_id", "passage_id"),
    comment="Which passage mentions which entity, and where.",
)


relations = Table(
    "relations",
    metadata,
    tenant_id(),
    collection_id(),
    col("id", UUID, "Hash of source, kind and target."),
    col("source_id", UUID, "The entity it goes out from; of a symmetric relation the one with the smaller id."),
    col("kind", Text, "co_occurs (symmetric), contains, imports, calls, inherits, or what a pattern or model found."),
    col("target_id", UUID, "The entity it leads to."),
    col("evidence_count", Integer, "Passages that prove it, exact. It goes with the last one."),
    col("strength", BigInteger, "Sum of the strengths of its evidence, in thousandths."),
    PrimaryKeyConstraint("tenant_id", "id"),
    collection_key(),
    Index("relations_collection_idx", "tenant_id", "collection_id"),
    comment="Relations between entities, each proved by passages (rag.evidence).",
)


evidence = Table(
    "evidence",
    metadata,
    tenant_id(),
    collection_id(),
    col("passage_id", UUID, "The passage that proves it."),
    col("relation_id", UUID, "The relation."),
    col("strength", Integer, "How much it says, in thousandths: whole numbers add up the same in any order."),
    col("char_start", Integer, "First code point of the proof in the document text."),
    col("char_end", Integer, "One past its last code point."),
    col("by_model", Boolean, "Whether a chat model found it, not the rules.", server_default=text("false")),
    PrimaryKeyConstraint("tenant_id", "passage_id", "relation_id"),
    passage_key(),
    Index("evidence_relation_idx", "tenant_id", "relation_id", text("strength DESC"), "passage_id"),
    comment="Which passage proves which relation, and where.",
)


adjacency = Table(
    "adjacency",
    metadata,
    tenant_id(),
    collection_id(),
    col("relation_id", UUID, "The relation."),
    col("outgoing", Boolean, "Whether the relation goes out from the node."),
    col("node_id", UUID, "An end of the relation: the entity that stands for it after merges."),
    col("neighbour_id", UUID, "The other end, likewise."),
    col("weight", REAL, "Association of the two ends, above 0 and below 1 (rag.association)."),
    PrimaryKeyConstraint("tenant_id", "relation_id", "outgoing"),
    ForeignKeyConstraint(
        ["tenant_id", "relation_id"],
        ["rag.relations.tenant_id", "rag.relations.id"],
        ondelete="CASCADE",
    ),
    Index(
        "adjacency_node_idx",
        "tenant_id",
        "node_id",
        text("weight DESC"),
        "neighbour_id",
        postgresql_include=["relation_id", "outgoing"],
    ),
    comment="Relations as seen from each end, strongest first: what rag.graph_walk reads.",
)


entity_merges = Table(
    "entity_merges",
    metadata,
    tenant_id(),
    collection_id(),
    col("id", UUID, "Merge id (UUIDv7)."),
    col("entity_id", UUID, "The entity that was merged; it may be gone by now, and is merged again if it comes back."),
    col("into_id", UUID, "The entity that stands for it."),
    col("reason", Text, "Why, or by what method."),
    moment("merged_at", "When.", server_default=NOW),
    moment("undone_at", "When it was undone; null while it is in force.", nullable=True),
    PrimaryKeyConstraint("tenant_id", "id"),
    collection_key(),
    Index(
        "entity_merges_entity_idx",
        "tenant_id",
        "entity_id",
        unique=True,
        postgresql_where=text("undone_at IS NULL"),
    ),
    Index(
        "entity_merges_into_idx",
        "tenant_id",
        "into_id",
        postgresql_where=text("undone_at IS NULL"),
    ),
    comment="Log of entities merged by hand or by similarity; each can be undone.",
)


# --- Communities, and extraction by models ---

communities = Table(
    "communities",
    metadata,
    tenant_id(),
    collection_id(),
    col("id", UUID, "Community id."),
    col("level", Integer, "0: not part of a larger one; 1: part of one of level 0, ..."),
    col("parent_id", UUID, "Community of the level before that it is part of; null at level 0.", nullable=True),
    count("entity_count", "Entities in it when made."),
    count("sentence_count", "Sentences chosen for it; when fewer are left, it is summarised anew."),
    col(
        "fingerprint", LargeBinary, "Hash of its entities and of the weights between them.",
        server_default=text("''::bytea"),
    ),
    col("title", Text, "What a model calls it; empty: none did.", server_default=text("''")),
    col("summary", Text, "What a model wrote; empty: none did.", server_default=text("''")),
    col(
        "document_ids", ARRAY(UUID), "Documents that the model read; the deletion of one blanks what it wrote.",
        server_default=text("'{}'::uuid[]"),
    ),
    col("epoch", BigInteger, "Epoch of the collection that it was made from."),
    moment("summarised_at", "When a model summarised it; null: not yet, or blanked.", nullable=True),
    PrimaryKeyConstraint("tenant_id", "id"),
    collection_key(),
    Index("communities_collection_idx", "tenant_id", "collection_id"),
    comment="Groups of closely related entities, with summaries.",
)  # fmt: skip


def _community_key() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["tenant_id", "community_id"], ["rag.communities.tenant_id", "rag.communities.id"], ondelete="CASCADE"
    )


community_members = Table(
    "community_members",
    metadata,
    tenant_id(),
    collection_id(),
    col("community_id", UUID, "The community."),
    col("entity_id", UUID, "The entity."),
    col("weight", REAL, "Sum of the weights of its relations within the community."),
    PrimaryKeyConstraint("tenant_id", "community_id", "entity_id"),
    _community_key(),
    entity_key(),
    Index("community_members_entity_idx", "tenant_id", "entity_id"),
    comment="Which entity belongs to which community.",
)


community_sentences = Table(
    "community_sentences",
    metadata,
    tenant_id(),
    collection_id(),
    col("community_id", UUID, "The community."),
    col("place", Integer, "Place in the summary, from 0."),
    col("passage_id", UUID, "The passage that it stands in; it goes with it."),
    col("char_start", Integer, "First code point in the document text."),
    col("char_end", Integer, "One past its last code point."),
    PrimaryKeyConstraint("tenant_id", "community_id", "place"),
    _community_key(),
    passage_key(),
    Index("community_sentences_passage_idx", "tenant_id", "passage_id"),
    comment="Sentences that sum up a community: places in passages, no text of their own.",
)


community_refreshes = Table(
    "community_refreshes",
    metadata,
    tenant_id(),
    collection_id(),
    col("attempt", BigInteger, "Number of refreshes begun; an older one that still runs writes nothing any more."),
    col(
        "epoch", BigInteger, "Epoch of the collection that the last finished one read.", server_default=text("0")
    ),
    moment("refreshed_at", "When the last one finished; null: none did.", nullable=True),
    PrimaryKeyConstraint("tenant_id", "collection_id"),
    collection_key(),
    comment="How far the communities of a collection follow its documents.",
)  # fmt: skip


extractions = Table(
    "extractions",
    metadata,
    tenant_id(),
    collection_id(),
    col("document_id", UUID, "The document; what a model said of it goes with it."),
    col("content_hash", LargeBinary, "SHA-256 of the passage that the model read."),
    col("extractor", Text, "Model, checks and prompt."),
    col("result", JSONB, "Entities, relations and aliases of the passage that passed the checks, and what did not."),
    moment("created_at", "When.", server_default=NOW),
    PrimaryKeyConstraint("tenant_id", "document_id", "content_hash", "extractor"),
    document_key(),
    Index("extractions_reuse_idx", "tenant_id", "content_hash", "extractor"),
    comment="What models extracted, kept so that no text is sent twice.",
)


extraction_usage = Table(
    "extraction_usage",
    metadata,
    tenant_id(),
    col("day", Date, "Day of the calls (UTC)."),
    col("job_id", UUID, "Job that made them; it may be gone by now."),
    col("model", Text, "The chat model."),
    count("calls", "Calls that were answered."),
    count("input_tokens", "Tokens that it read, as reported or estimated.", BigInteger),
    count("output_tokens", "Tokens that it wrote, likewise.", BigInteger),
    col("purpose", Text, "Kind of the job: each has caps of its own.", server_default=text("'graph_model'")),
    PrimaryKeyConstraint("tenant_id", "day", "job_id", "model"),
    comment="What jobs have cost that ask chat models, for the caps of graph.model and enrichment.",
)


code_calls = Table(
    "code_calls",
    metadata,
    tenant_id(),
    collection_id(),
    col("document_id", UUID, "A file of code that was read, whether it calls something or not."),
    col(
        "names", ARRAY(Text), "Of each call the name that is called, without what stands before it; in order of places."
    ),
    col("sources", ARRAY(Text), "Of each the definition of the file around it; empty: none."),
    col("targets", ARRAY(Text), "Of each what it means as far as the file tells (docs/adr/0044-code-answers.md)."),
    col("starts", ARRAY(Integer), "Of each the first code point in the document text."),
    col("ends", ARRAY(Integer), "Of each one past the last code point of the name."),
    PrimaryKeyConstraint("tenant_id", "document_id"),
    document_key(),
    Index("code_calls_collection_idx", "tenant_id", "collection_id"),
    comment="Every call in files of code, resolved or not: what an answer on callers is complete by.",
)
