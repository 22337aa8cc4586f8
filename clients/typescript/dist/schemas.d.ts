/** The rules as they are now. */
export interface AccessChanged {
    items: AccessRuleOut[];
    /** Documents that have another access list now. */
    changed: number;
    /** In the folder, whatever their list; 0: none yet, or its name is mistyped. */
    documents: number;
    /** Whether there was no such collection before. */
    collection_made: boolean;
    /** Brings those back into the graph that everybody may read now; null: there are none. */
    job_id: string | null;
}
/** Of the documents that have no access list of their own, those that come later too. */
export interface AccessRuleIn {
    /**
     * What the ids of the documents begin with, such as `hr/`, or all of one; empty: the whole collection. The rule of
     * the nearest folder counts.
     */
    folder?: string;
    /** Who may read them: `group:<name>`, `person:<subject of a token>`, `key:<id>`; nobody: everybody in the tenant. */
    access: string[];
}
export interface AccessRuleOut {
    /** Without the slash at its end; empty: the whole collection. */
    folder: string;
    /** Who may read them: `group:<name>`, `person:<subject of a token>`, `key:<id>`; nobody: everybody in the tenant. */
    access: string[];
}
/** By folder. */
export interface AccessRules {
    items: AccessRuleOut[];
}
export interface AgentBody {
    /** At most planned.questionChars characters. */
    question: string;
    mode?: "agent";
    /** Whether the response has the trace. */
    returnTrace?: boolean;
    /** Default: the setting rag.collectionName. */
    collection?: string | null;
    /** Names the run, for GET /runs/{run_id}; made if not given. */
    runId?: string | null;
}
/**
 * The n-th is `[n]` in the answer. `snippet` stands there verbatim; `chunkId` is the chunk that it begins in, as in
 * `chunk_id` of POST /query and `analyst.chunks`.
 */
export interface AgentCitation {
    docId: string;
    /** Null of a page of the web, and where chunks could not be read. */
    chunkId: string | null;
    snippet: string;
    filename: string;
    /** The answer does not rest on it: what else may answer, or comes nearest. */
    instead?: boolean;
}
export interface AgentInsufficiency {
    section: string;
    missing: string;
    queriesTried: string[];
}
export interface AgentResponse {
    answer: string;
    citations: AgentCitation[];
    insufficiencies: AgentInsufficiency[];
    /**
     * type (plan, tool_call, validation, reprompt, final, error), and what belongs to it of steps, tool, input,
     * outputSummary, validationErrors, notes; empty unless returnTrace.
     */
    trace: Record<string, unknown>[];
    /** How much of what there is the answer looked at. */
    coverage: Coverage;
}
export interface AnswerOut {
    answer: string;
    citations: CitationOut[];
    /**
     * The passages that the answer is made of. Named by `include`, as are route, grounding and timings_ms; else left
     * out.
     */
    sources?: SourceOut[];
    /** Of a quotation: the calibrated probability that it answers. */
    confidence: number;
    /**
     * Of a quotation what its confidence is worth: found, likely or not_sure. exact: all documents were counted;
     * computed: over the cells of a table; recognised: by rules, so that some may be missing. null: of a refusal, of
     * small talk, of a summary and of what a model wrote.
     */
    confidence_word: "found" | "likely" | "not_sure" | "exact" | "computed" | "recognised" | null;
    /** Follows from the confidence. no: the documents do not say; unsure: a guess, shown as one. */
    answered: "yes" | "no" | "unsure";
    /** Whether its sources support what a model wrote; null of a quotation. */
    grounded: boolean | null;
    groundedness_score: number | null;
    insufficiencies: string[];
    /** How much of what there is the answer looked at: `read` of `of`; complete: nothing was left out. */
    coverage: Coverage;
    route?: Record<string, unknown>;
    degraded: string[];
    session_id: string | null;
    run_id: string;
    timings_ms?: Record<string, number>;
    /** The chat model that wrote the answer; null: none did. */
    written_by?: string | null;
    /**
     * What its calls of chat models cost, and in `by_purpose` hosted embedding and reranking as well; empty where none
     * was called.
     */
    usage?: Record<string, unknown>;
    /**
     * The chat model failed, and the answer came all the same: why, and what was done instead (`sentence`, in the
     * language of the answer), with what `degraded` has of it (`details`).
     */
    model_failure?: ModelFailure | null;
    /** The check behind `grounded`, sentence by sentence; null: none. */
    grounding?: Grounding | null;
    /** Whether `answer` is not the text of the run's `token` events: show it instead of them. */
    replaced?: boolean;
}
/**
 * Digests are of the canonical form: JSON in UTF-8 with sorted keys and no white space. Numbers with fractions are
 * texts.
 */
export interface AnswerProofOut {
    /** `cairn-proof/1`. */
    format: string;
    /** Its id, when it began, and when this was written. */
    run: Record<string, string>;
    /** The version that wrote this. */
    cairn: Record<string, string>;
    question: Record<string, unknown>;
    answer: Record<string, unknown>;
    /** The quoted words, and where they stand; null and why where not kept. */
    citations: Record<string, unknown>[];
    /** Name, version and hashes of each document of what was read. */
    documents: Record<string, unknown>[];
    /** What was read; with its text what is cited. */
    passages: Record<string, unknown>[];
    /** For each citation of a document what leads to it in SQL. */
    rows: Record<string, unknown>[];
    /** Epochs of the collections that were searched. */
    index: Record<string, unknown>[];
    models: Record<string, unknown>;
    /** Revision, and what differs from the defaults. */
    settings: Record<string, unknown>;
    digest: DigestOut;
}
export interface AuditEventOut {
    id: string;
    occurred_at: string;
    /** local, key:<id>, token:<subject>, or database:<login> for what was done in SQL. */
    caller: string;
    /** The name of that caller at that time. */
    caller_name: string;
    /** What was done, as <what>.<deed>. */
    action: string;
    /** Name or id of what it was done to. */
    target: string;
    detail: Record<string, unknown>;
}
export interface AuditPage {
    items: AuditEventOut[];
    /** For the next page; null on the last one. */
    next_cursor: string | null;
}
export interface Body_upload_chat_documents {
    /** PDF, Word, Excel, PowerPoint, mails, text, code and more; names are identities. */
    files: string[];
    /**
     * Who may read it: `group:<name>`, `person:<subject of a token>`, `key:<id>`; empty: as the rules of its folder
     * say (`PUT /collections/{name}/access`), without any everybody in the tenant. Left out: as it is. Repeat it;
     * needs the scope admin.
     */
    access?: string[];
    /** A JSON object, stored with each document. */
    metadata?: string | null;
}
export interface Body_upload_documents {
    /** PDF, Word, Excel, PowerPoint, mails, text, code and more. The name is the document's identity. */
    files: string[];
    /**
     * Who may read it: `group:<name>`, `person:<subject of a token>`, `key:<id>`; empty: as the rules of its folder
     * say (`PUT /collections/{name}/access`), without any everybody in the tenant. Left out: as it is. Repeat it;
     * needs the scope admin.
     */
    access?: string[];
    /** A JSON object, stored with each document. */
    metadata?: string | null;
}
export interface CGRAGMetadata {
    passes_used: number;
    gaps_identified: string[];
    gaps_resolved: string[];
    gaps_unresolved: string[];
    session_id: string | null;
    context_from_cache: boolean;
}
export interface CacheOut {
    enabled: boolean;
    /** Entries that can answer now. */
    size: number;
    capacity: number;
    ttl_seconds: number;
    /** Searches answered from the cache, semantic ones included. */
    hits: number;
    /** Hits of nearly the same query. */
    semantic_hits: number;
    misses: number;
    /** Searches with filters or a route of their own, or that asked for no cache. */
    bypassed: number;
    /** hits / (hits + misses); null before the first search. */
    hit_rate: number | null;
    /** Whether nearly the same query is enough. */
    semantic: boolean;
    /** Stored embeddings of queries. */
    query_embeddings: number;
}
export interface CandidateOut {
    rank: number;
    passage_id: string;
    chunk_id: string | null;
    /** The leg's own score; for `fused` the fused one. */
    score: number | null;
    /** Part in the fused score; for `fused` the reranker's score, if any. */
    share: number | null;
    /** For `fused`: kept, or why it was dropped. */
    fate: string | null;
}
export interface ChatFailed {
    name: string;
    error: string;
    code: string;
}
export interface ChatRequest {
    message: string;
    /** The conversation; default: a new one, whose id is returned. */
    session_id?: string | null;
    /** What is asked. Default: chat_{chat_id}, or chat_{session_id} where there is no chat id. */
    collection_name?: string | null;
    /** Names the run; 409 if in use, made if not given. */
    run_id?: string | null;
    /** The run goes on when its client leaves; GET /runs/{run_id}/events continues it. */
    resumable?: boolean;
}
export interface ChatResponse {
    /** Id of the answer in the history; null where it could not be saved. */
    message_id: string | null;
    answer: string;
    sources: ChatSource[];
    session_id: string;
    /** Null where nothing was to be checked, or it could not be. */
    was_grounded: boolean | null;
    /** no: the documents do not say; unsure: a guess, shown as one. */
    answered: "yes" | "no" | "unsure";
    /** Of a quotation: the probability that it answers. */
    confidence: number;
    /**
     * Of a quotation what its confidence is worth: found, likely or not_sure. exact: all documents were counted;
     * computed: over the cells of a table; recognised: by rules, so that some may be missing. null: of a refusal, of
     * small talk, of a summary and of what a model wrote.
     */
    confidence_word: "found" | "likely" | "not_sure" | "exact" | "computed" | "recognised" | null;
    processing_time_ms: number;
    /** How much of what there is the answer looked at. */
    coverage: Coverage;
    /** What did not work as asked. */
    degraded: string[];
}
/** A source of an answer; the n-th of the list is `[n]` in it. Uncited ones come last. */
export interface ChatSource {
    /** Name of the file, or address of a web page; empty once the document is deleted. */
    filename: string;
    /** Id of the chunk, or of the passage where no chunk of it was found. */
    chunk_id: string;
    relevance_score: number;
    /** At most 200 characters, from the cited sentence on. */
    content_preview: string;
    page: number | null;
}
export interface ChatUploadOut {
    uploaded: ChatUploaded[];
    failed: ChatFailed[];
}
export interface ChatUploaded {
    id: string;
    name: string;
    chunk_count: number;
}
/**
 * `[n]` in the answer; `quote` stands verbatim at start..end of the document's text. One of kind `web` is a page
 * outside the documents (`rag.agenticRetrieval.webSearchFallbackEnabled`): it has a `url` and no ids, and the quote
 * is of its excerpt.
 */
export interface CitationOut {
    kind?: "document" | "web";
    n: number;
    document_id: string | null;
    external_id: string;
    passage_id: string | null;
    chunk_id: string | null;
    title: string;
    headings: string[];
    page: number | null;
    quote: string;
    start: number;
    end: number;
    version: number;
    url?: string | null;
    /**
     * What an answer that is a quotation shows around it, as Markdown, and where that stands in the document's text;
     * the quote lies inside. null where it shows the quote alone, of further places, and of what a model wrote.
     */
    context?: CitedContext | null;
    /**
     * The answer does not rest on it: it is not sure, and names this as what else may answer, or it is a refusal, and
     * this is what comes nearest.
     */
    instead?: boolean;
}
/**
 * What is shown around a quotation, which lies inside start..end (code points) of the document's text. `text` is
 * that part as Markdown: free of tags and links, its fences closed, rows below their header.
 */
export interface CitedContext {
    text: string;
    start: number;
    end: number;
}
export interface ClearedOut {
    /** Entries. */
    deleted: number;
}
/** Lines of a file of code. */
export interface CodeLinesOut {
    /** The file, by its external id. */
    path: string;
    /** From 1. */
    start_line: number;
    /** The last one, included. */
    end_line: number;
}
export interface CollectionDetail {
    name: string;
    /** What people call it, spaces and capitals included; null: its name. */
    display_name?: string | null;
    document_count: number;
    passage_count: number;
    chunk_count: number;
    /** Grows with every committed change of content. */
    epoch: number;
    created_at: string;
    /** Which serves it; null before its first document, unless one was chosen when it was created. */
    embedding_model?: string | null;
    /** changing: vectors of another model are being made; reindexing: its documents are embedded anew. */
    embedding_state?: "empty" | "serving" | "changing" | "reindexing";
    /** Null until a check; small collections need none. */
    recall: RecallOut | null;
}
/** What a collection does with a model: backfilling, ready (may be flipped to), serving, retired (rolled back to). */
export interface CollectionModelOut {
    collection: string;
    model: string;
    state: "backfilling" | "stopped" | "ready" | "serving" | "retired";
    changed_at: string | null;
}
export interface CollectionOut {
    name: string;
    /** What people call it, spaces and capitals included; null: its name. */
    display_name?: string | null;
    document_count: number;
    passage_count: number;
    chunk_count: number;
    /** Grows with every committed change of content. */
    epoch: number;
    created_at: string;
    /** Which serves it; null before its first document, unless one was chosen when it was created. */
    embedding_model?: string | null;
    /** changing: vectors of another model are being made; reindexing: its documents are embedded anew. */
    embedding_state?: "empty" | "serving" | "changing" | "reindexing";
}
export interface CollectionPage {
    items: CollectionOut[];
    /** For the next page; null on the last one. */
    next_cursor: string | null;
}
/** What people call the collection. Its name stays: addresses, settings and programs have it. */
export interface CollectionPatch {
    /** What people call it, spaces and capitals included; null: its name. */
    display_name: string | null;
}
/** A group of entities that are closely related, and what documents say of them. */
export interface CommunityOut {
    /** It keeps it while most of its members stay. */
    id: string;
    /** 0: not part of a larger one; 1: part of one of level 0, and so on. */
    level: number;
    parent_id: string | null;
    /** What a chat model called it, else its most central entities. */
    title: string;
    /** Entities in it. */
    entity_count: number;
    /** What a chat model wrote; null where none did, and after a source of it went. */
    summary: string | null;
    /** That sum it up, word for word, the best first. */
    sentences: SentenceOut[];
}
export interface CommunityPage {
    items: CommunityOut[];
    /** For the next page; null on the last one, and with `q`. */
    next_cursor: string | null;
}
export interface CompletionAnnotation {
    type?: "url_citation";
    url_citation: UrlCitation;
}
/** A request of the OpenAI API. What is not named here is accepted and has no effect, as `cairn.ignored` says. */
export interface CompletionBody {
    /** A collection, or `cairn/<collection>:<strategy>`. */
    model: string;
    /** The last one is the question. */
    messages: DialogueMessage[];
    stream?: boolean | null;
    stream_options?: CompletionStreamOptions | null;
    /** Default: the setting rag.qa.temperature. */
    temperature?: number | null;
    /** 1. */
    n?: number | null;
    /** None: they are refused. */
    tools?: unknown[] | null;
    /** None: they are refused. */
    functions?: unknown[] | null;
    /** `{type: text}`. */
    response_format?: Record<string, unknown> | null;
    /** Cairn's own: only documents whose metadata contain this object. */
    filters?: Record<string, unknown> | null;
    [name: string]: unknown;
}
export interface CompletionChoice {
    index?: number;
    message: CompletionMessage;
    logprobs?: null;
    finish_reason?: "stop";
}
export interface CompletionMessage {
    role?: "assistant";
    content: string;
    refusal?: string | null;
    annotations: CompletionAnnotation[];
}
export interface CompletionOut {
    id: string;
    object?: "chat.completion";
    created: number;
    model: string;
    choices: CompletionChoice[];
    usage: CompletionUsage;
    /** What `[n]` stands on, as POST /query has it. */
    citations: CitationOut[];
    cairn: Extension;
}
export interface CompletionStreamOptions {
    /** One more chunk, before the last one, has the usage. */
    include_usage?: boolean | null;
    [name: string]: unknown;
}
/** Of the chat model; all 0 where the answer is a quotation, which no model wrote. */
export interface CompletionUsage {
    prompt_tokens: number;
    completion_tokens: number;
    total_tokens: number;
}
export interface ConnectedSourceOut {
    id: string;
    collection: string;
    address: string;
    prefix: string;
    options: Record<string, string>;
    /** Names of the secrets that it has. */
    secrets: string[];
    interval_seconds: number;
    access: Record<string, string[]>;
    most_deleted: number;
    requests_per_second: number | null;
    paused: boolean;
    /** Why it is paused, or what was left undone. */
    note: string | null;
    /** A job waits or works. */
    running: boolean;
    created_at: string;
    /** When it is synchronised next. */
    due_at: string | null;
    last_started_at: string | null;
    /** When a synchronisation last came to its end. */
    last_finished_at: string | null;
    /** Why the last one failed. */
    last_error: string | null;
    /** Failed synchronisations one after the other; the pauses between them grow. */
    failures: number;
    /** The job of the last synchronisation. */
    job_id: string | null;
    /** Files that are known of it. */
    files: number;
    /** Of these, files that are not indexed. */
    failed: number;
    /** What the last synchronisation did. */
    counts: Record<string, number> | null;
}
export interface ContentPart {
    type: string;
    text?: string | null;
    [name: string]: unknown;
}
export interface ConversationChange {
    /** An empty one: it is shown by what was said first again. */
    title: string;
}
/** What the user or Cairn said. An answer that cites a deleted document is empty. */
export interface ConversationMessage {
    id: string;
    role: "user" | "assistant";
    content: string;
    created_at: string;
    run_id: string | null;
    /** Of a question: failed or cancelled where it got no answer. */
    status: "succeeded" | "failed" | "cancelled";
    /** Why a question got no answer. */
    problem: MessageProblem | null;
    confidence: number | null;
    /**
     * Of a quotation what its confidence is worth: found, likely or not_sure. exact: all documents were counted;
     * computed: over the cells of a table; recognised: by rules, so that some may be missing. null: of a refusal, of
     * small talk, of a summary and of what a model wrote.
     */
    confidence_word: "found" | "likely" | "not_sure" | "exact" | "computed" | "recognised" | null;
    answered: string | null;
    /** Null too where a source has changed since: nobody checked it against that. */
    grounded: boolean | null;
    sources: RememberedSource[];
}
export interface ConversationOut {
    /** The `session_id` of its messages and runs. */
    id: string;
    /** As it was given, else how the first message begins. */
    title: string;
    /** That was asked last; it may be gone by now. */
    collection: string | null;
    /** Of both sides. */
    message_count: number;
    created_at: string;
    last_used_at: string;
}
export interface ConversationPage {
    items: ConversationOut[];
    /** For the next page; null on the last one. */
    next_cursor: string | null;
}
/** How many documents of a request became what. */
export interface Counts {
    added: number;
    replaced: number;
    updated: number;
    unchanged: number;
    failed: number;
}
/**
 * How much of what there is an answer looked at: `read` of `of` `unit` (passages, documents, callers ...).
 * `complete`: nothing was left out, so that what the answer does not name is not there. It can be False where `read`
 * is `of`: what was counted may not be all (a relation that could not be resolved).
 */
export interface Coverage {
    complete: boolean;
    read: number;
    of: number;
    unit?: string;
}
/** How many documents were deleted. */
export interface DeletionOut {
    deleted: number;
    /** There are others that were meant, since one request deletes 1,000: repeat it. */
    more: boolean;
    /** Of the collection, with this written: `min_epoch` of a request that must see it. */
    epoch: number;
}
/** One message. Its content is text, or parts of which each is text. */
export interface DialogueMessage {
    role: "system" | "developer" | "user" | "assistant" | "tool" | "function";
    content?: string | ContentPart[] | null;
    [name: string]: unknown;
}
/**
 * An error as Dify shows it. 1001: there is no Authorization header with a Bearer key; 1002: the key does not count;
 * 2001: there is no such knowledge; of everything else the HTTP status.
 */
export interface DifyErrorOut {
    error_code: number;
    error_msg: string;
}
export interface DigestOut {
    /** sha256. */
    algorithm: string;
    /** Of each other part of the proof, in its canonical form. */
    sections: Record<string, string>;
    /** Of all other parts together: what is worth noting elsewhere. */
    whole: string;
}
export interface DocumentOut {
    id: string;
    collection: string;
    external_id: string;
    title: string;
    version: number;
    status: "pending" | "parsing" | "embedding" | "indexed" | "failed";
    media_type: string;
    language: string | null;
    metadata: Record<string, unknown>;
    error: string | null;
    byte_size: number;
    passage_count: number;
    chunk_count: number;
    token_count: number;
    created_at: string;
    updated_at: string;
    /** The file is kept: GET .../file has it. */
    has_file: boolean;
    /** Set once contexts were written (rag.contextualEnrichmentEnabled). */
    enrichment?: EnrichmentOut | null;
    /** Who may read it; null: everybody in the tenant. */
    access?: string[] | null;
    /** Folder whose access rule says so, empty: the collection; null: it has its own list, or none. */
    access_from?: string | null;
}
export interface DocumentPage {
    items: DocumentOut[];
    /** For the next page; null on the last one. */
    next_cursor: string | null;
}
/** What is left out stays as it is. */
export interface DocumentPatch {
    /** By which it is then found. */
    title?: string | null;
    /** Merged into what is there; null removes a member (RFC 7396). */
    metadata?: Record<string, unknown> | null;
    /**
     * Who may read it: `group:<name>`, `person:<subject of a token>`, `key:<id>`; empty: as the rules of its folder
     * say (`PUT /collections/{name}/access`), without any everybody in the tenant. From now on; needs the scope admin.
     */
    access?: string[] | null;
}
export interface DocumentWithText {
    id: string;
    collection: string;
    external_id: string;
    title: string;
    version: number;
    status: "pending" | "parsing" | "embedding" | "indexed" | "failed";
    media_type: string;
    language: string | null;
    metadata: Record<string, unknown>;
    error: string | null;
    byte_size: number;
    passage_count: number;
    chunk_count: number;
    token_count: number;
    created_at: string;
    updated_at: string;
    /** The file is kept: GET .../file has it. */
    has_file: boolean;
    /** Set once contexts were written (rag.contextualEnrichmentEnabled). */
    enrichment?: EnrichmentOut | null;
    /** Who may read it; null: everybody in the tenant. */
    access?: string[] | null;
    /** Folder whose access rule says so, empty: the collection; null: it has its own list, or none. */
    access_from?: string | null;
    /** Normalised text that all spans count in; only with ?include=text. */
    text?: string | null;
}
export interface EmbeddingBody {
    /** An embedding model, or a collection: the model that serves it. */
    model: string;
    /** A text or several; tokens are refused, since each model has its own. */
    input: string | string[];
    encoding_format?: "float" | "base64" | null;
    /** Those of the model; others are refused. */
    dimensions?: number | null;
    [name: string]: unknown;
}
export interface EmbeddingListOut {
    object?: "list";
    model: string;
    data: EmbeddingOut[];
    usage: EmbeddingUsage;
}
export interface EmbeddingOut {
    object?: "embedding";
    index: number;
    /** base64: little-endian float32. */
    embedding: number[] | string;
}
export interface EmbeddingUsage {
    prompt_tokens: number;
    total_tokens: number;
}
/** Sentences of context that a chat model wrote for chunks; they are embedded with them and never shown. */
export interface EnrichmentOut {
    model: string;
    /** Chunks that are embedded with one. */
    chunks: number;
    /** All chunks of the document. */
    of: number;
    /** Why the others have none, with how many. */
    without: Record<string, number>;
}
export interface EntityDetailOut {
    /** The same for the same name in the same collection, also after a deletion. */
    id: string;
    name: string;
    /** What most passages take it for: person, place, organisation, term, class, ... */
    kind: string;
    /** Passages that mention it under its own names. */
    passage_count: number;
    collection: string;
    /** What passages call it and what was merged into it. */
    names: NameOut[];
    /** Passages that mention it or what was merged into it. */
    total_passage_count: number;
    document_count: number;
    relation_count: number;
    /** The strongest, one for each neighbour. */
    relations: RelationOut[];
    /** Passages that mention it most. */
    mentions: MentionOut[];
    /** What was merged into it; undo with DELETE /graph/merges/{id}. */
    merged: MergeOut[];
    /** Where it stands in a file of code; null for anything else. */
    lines?: CodeLinesOut | null;
}
/** Something that passages speak of, by the name that most of them give it. */
export interface EntityOut {
    /** The same for the same name in the same collection, also after a deletion. */
    id: string;
    name: string;
    /** What most passages take it for: person, place, organisation, term, class, ... */
    kind: string;
    /** Passages that mention it under its own names. */
    passage_count: number;
}
export interface EntityPage {
    items: EntityOut[];
    /** For the next page; null on the last one. */
    next_cursor: string | null;
}
export interface ExplanationOut {
    stages: StageOut[];
}
/** What an answer has that the OpenAI API has no place for. */
export interface Extension {
    run_id: string;
    collection: string;
    /** Which one answered. */
    strategy: string | null;
    answered: "yes" | "no" | "unsure";
    confidence: number;
    /**
     * Of a quotation what its confidence is worth: found, likely or not_sure. exact: all documents were counted;
     * computed: over the cells of a table; recognised: by rules, so that some may be missing. null: of a refusal, of
     * small talk, of a summary and of what a model wrote.
     */
    confidence_word: "found" | "likely" | "not_sure" | "exact" | "computed" | "recognised" | null;
    grounded: boolean | null;
    coverage: Record<string, unknown>;
    insufficiencies: string[];
    degraded: string[];
    /** Whether the checked answer follows a text that was streamed and did not hold. */
    replaced: boolean;
    /** Parameters of the request that have no effect. */
    ignored: string[];
}
export interface FailedDocument {
    external_id: string;
    error: string;
    code: string;
}
export interface FailedFileOut {
    path: string;
    external_id: string;
    error: string;
    seen_at: string;
}
export interface FeedbackBody {
    /** The run that is judged; `run_id` of an answer, `trace_id` of a search. */
    run_id: string;
    /** -1 bad, 0 neither, 1 good. */
    rating: number;
    /** In the user's own words. */
    comment?: string | null;
}
export interface FeedbackOut {
    run_id: string;
    session_id: string | null;
    rating: number;
    comment: string | null;
    created_at: string;
    updated_at: string;
}
/** One thing that is wrong with the request: where, and what. */
export interface FieldError {
    /** Path of the value, such as body.top_k. */
    location: string;
    message: string;
    type: string;
}
export interface ForgottenOut {
    /** What stands in the place of the person now; null where it was only counted. */
    mark: string | null;
    dry_run: boolean;
    /** How much of each kind went, or would go, or lost the name. */
    counts: Record<string, number>;
}
/**
 * The verdict on a whole answer. `grounded` None: it could not be checked, and `degraded` says why. Where it is
 * True, all `sentences` are supported and there are no `issues`; where it is False, one sentence at least is not,
 * and an issue says why. `layer`: which one decided. "fast" words and trigrams, "model", "sentences" the
 * deterministic second layer. `fast_score` is None where the fast layer was skipped (answer and sources differ in
 * language).
 */
export interface Grounding {
    grounded: boolean | null;
    score: number | null;
    layer: "fast" | "model" | "sentences" | null;
    fast_score?: number | null;
    issues?: string[];
    sentences?: SentenceSupport[];
    degraded?: string[];
}
export interface HistoryOut {
    session_id: string;
    messages: MessageOut[];
    /** For the next page; null on the last one. */
    next_cursor: string | null;
}
/** null: no limit. */
export interface HoldingOut {
    documents: number | null;
    bytes: number | null;
    chunks: number | null;
}
export interface IndexBody {
    /** Created if need be; default: the setting rag.collectionName. */
    collection?: string | null;
    documents: IndexDocument[];
}
/** Without an `external_id` one is made from title and text, so that repeating a call changes nothing. */
export interface IndexDocument {
    external_id?: string | null;
    title?: string | null;
    text: string;
    metadata?: Record<string, unknown>;
    /**
     * Who may read it: `group:<name>`, `person:<subject of a token>`, `key:<id>`; empty: as the rules of its folder
     * say (`PUT /collections/{name}/access`), without any everybody in the tenant. Null: as it is. Needs the scope
     * admin.
     */
    access?: string[] | null;
}
/** What became of each document. */
export interface IndexOut {
    indexed: IndexedOut[];
    failed: FailedDocument[];
    counts: Counts;
    /** Of the collection, with this written: `min_epoch` of a request that must see it. */
    epoch: number;
}
export interface IndexedOut {
    id: string;
    external_id: string;
    chunk_count: number;
    duplicate: boolean;
    change: "added" | "replaced" | "updated" | "unchanged";
}
/** A job. It has ended when status is succeeded, failed, parked (its worker died too often) or cancelled. */
export interface JobOut {
    id: string;
    kind: string;
    /** What the job works on, where its order named one. */
    collection: string | null;
    status: string;
    progress: ProgressOut;
    result: Record<string, unknown> | null;
    error: string | null;
    attempts: number;
    max_attempts: number;
    cancel_requested: boolean;
    created_at: string;
    started_at: string | null;
    finished_at: string | null;
}
export interface JobPage {
    items: JobOut[];
    /** For the next page; null on the last one. */
    next_cursor: string | null;
}
/** null: no limit. */
export interface KeyLimitsOut {
    requests_per_minute: number | null;
    concurrent_runs: number | null;
    tokens_per_day: number | null;
    cost_per_day: number | null;
}
export interface KeyOut {
    id: string;
    name: string;
    /** The first characters of the key, to tell it from others. */
    shown: string;
    scopes: ("read" | "ask" | "write" | "admin")[];
    limits: LimitsOfKey;
    created_at: string;
    /** local, key:<id> or token:<subject>. */
    created_by: string;
    expires_at: string | null;
    revoked_at: string | null;
    /** Exact to a minute. */
    last_used_at: string | null;
    /** Groups that its holder belongs to, by access lists of documents. */
    groups: string[];
}
export interface KeyPage {
    items: KeyOut[];
    next_cursor: string | null;
}
export interface KeyPatch {
    /** All groups that its holder belongs to from now on, by access lists of documents; empty: none. */
    groups: string[];
}
export interface KeyUsageOut {
    key_id: string;
    /** In the last sixty seconds, where they are limited; processes take some ahead. */
    requests: number;
    /** Under way, where they are limited. */
    runs: number;
    /** Requests to models of providers today (UTC). */
    calls: number;
    /** Their tokens, with those that calls under way may use yet. */
    tokens: number;
    /** What they cost, by answer.prices. */
    cost: number;
}
export interface LegOut {
    /** vector, lexical, fused; merged: the list that was made of several searches. */
    leg: string;
    /** Which search of the run, from 1 (see plan.searches); null for merged. */
    search: number | null;
    candidates: CandidateOut[];
}
/** Null: as the settings say. */
export interface LimitsOfKey {
    requests_per_minute?: number | null;
    concurrent_runs?: number | null;
    tokens_per_day?: number | null;
    cost_per_day?: number | null;
}
export interface ListedModelOut {
    id: string;
    object?: "model";
    created: number;
    owned_by?: string;
}
export interface Live {
    status?: string;
}
export interface MadeKey {
    id: string;
    name: string;
    /** The first characters of the key, to tell it from others. */
    shown: string;
    scopes: ("read" | "ask" | "write" | "admin")[];
    limits: LimitsOfKey;
    created_at: string;
    /** local, key:<id> or token:<subject>. */
    created_by: string;
    expires_at: string | null;
    revoked_at: string | null;
    /** Exact to a minute. */
    last_used_at: string | null;
    /** Groups that its holder belongs to, by access lists of documents. */
    groups: string[];
    /** The key. It is shown here and never again. */
    key: string;
}
/** A rectangle, as shares (0 to 1) of the page's width and height, from the left and the top. */
export interface MarkOut {
    left: number;
    top: number;
    width: number;
    height: number;
}
/**
 * Where on the page the span stands: a rectangle for each line or cell. None where nothing of the span is on the
 * page, and on a scan, of which it is not known.
 */
export interface MarksOut {
    page: number;
    start: number;
    end: number;
    marks: MarkOut[];
}
export interface MentionOut {
    passage_id: string;
    document_id: string;
    external_id: string;
    title: string;
    page: number | null;
    headings: string[];
    content: string;
    start: number;
    end: number;
    /** Where it stands in a file of code; null for anything else. */
    lines?: CodeLinesOut | null;
    /** 0: the passage only implies it, by its title or a pronoun. */
    occurrences: number;
}
export interface MergeOut {
    id: string;
    collection: string;
    from_id: string;
    /** Null while no passage mentions it; it is merged again when one does. */
    from_name: string | null;
    into_id: string;
    into_name: string | null;
    reason: string;
    merged_at: string;
    /** Null while it is in force. */
    undone_at: string | null;
}
export interface MergePage {
    items: MergeOut[];
    /** For the next page; null on the last one. */
    next_cursor: string | null;
}
/**
 * `metadata`: of an answer its `sources`, `confidence` and `grounded`; of a question that got none `outcome` (error
 * or cancelled) and the `error`; `source_deleted_at` once a source is deleted. An answer that cites a deleted
 * document is empty. `source_changed`: the answer cites a document that has other content by now; `changed_sources`
 * are the numbers of all such sources.
 */
export interface MessageOut {
    id: string;
    role: "user" | "assistant";
    content: string;
    timestamp: string;
    run_id: string | null;
    metadata: Record<string, unknown>;
}
export interface MessagePage {
    items: ConversationMessage[];
    /** For the next page; null on the last one. */
    next_cursor: string | null;
}
export interface MessageProblem {
    code: string;
    detail: string;
}
export interface MetadataCondition {
    logical_operator?: "and" | "or" | null;
    conditions?: MetadataConditionItem[] | null;
    [name: string]: unknown;
}
export interface MetadataConditionItem {
    /** A field of the documents' metadata; of several, any. */
    name: string | string[];
    comparison_operator: "contains" | "not contains" | "start with" | "end with" | "is" | "is not" | "in" | "not in" | "empty" | "not empty" | "=" | "\u2260" | ">" | "<" | "\u2265" | "\u2264" | "before" | "after";
    value?: string | number | string[] | null;
    [name: string]: unknown;
}
export interface ModelChange {
    action: "backfill" | "flip" | "rollback" | "forget";
    /** Not for rollback, which goes back to the model before. */
    model?: string | null;
}
/** What the collection does with each model now. */
export interface ModelChanged {
    collections: CollectionModelOut[];
}
/**
 * That the chat model failed, and the answer came all the same. `sentence`: why, and what was done instead, in the
 * language of the answer; `degraded` begins with it. `status`: the HTTP status that its server answered with.
 * `details`: what `degraded` has of it besides, in the words of the server.
 */
export interface ModelFailure {
    cause: "key" | "credit" | "model" | "choice" | "address" | "busy" | "server" | "unreachable" | "broken" | "silent" | "nonsense" | "refused" | "failed";
    status: number | null;
    sentence: string;
    details?: string[];
}
export interface ModelListOut {
    object?: "list";
    data: ListedModelOut[];
}
export interface ModelOut {
    name: string;
    dimensions: number;
}
export interface ModelsOut {
    models: ModelOut[];
    collections: CollectionModelOut[];
}
export interface NameOut {
    name: string;
    kind: string;
    passage_count: number;
}
export interface NeighborhoodOut {
    collection: string;
    /** Closest first; the first is the centre. */
    nodes: NodeOut[];
    /** The relations on the paths. */
    edges: RelationOut[];
    /** There is more than `limit` or the budget of a walk (settings graph.*) let through. */
    truncated: boolean;
}
/**
 * The name: 1 to 128 letters, digits, '.', '_' or '-', beginning with a letter or digit; it is made of the display
 * name where there is none.
 */
export interface NewCollection {
    name?: string | null;
    /** What people call it, spaces and capitals included; null: its name. */
    display_name?: string | null;
    /**
     * Which is to serve it: minilm (code, English at half the cost), e5 (prose in many languages), or another as
     * settings name it. Null or auto: that of the settings, or what its first documents ask for.
     */
    embedding_model?: string | null;
}
/** Let the chat model read a collection for the graph. */
export interface NewExtraction {
    /** Default: rag.collectionName. */
    collection?: string | null;
}
export interface NewKey {
    /** What it is for. */
    name: string;
    /** What it may do; not more than the key that makes it. */
    scopes: ("read" | "ask" | "write" | "admin")[];
    /** Null: it does not expire. */
    expires_in_days?: number | null;
    limits?: LimitsOfKey;
    /** Groups that its holder belongs to, by access lists of documents. */
    groups?: string[];
}
/** Take the entity `from` for the entity `into`; each by id or name. */
export interface NewMerge {
    /** Default: rag.collectionName, or where an id belongs. */
    collection?: string | null;
    /** Id or name. */
    into: string;
    /** Id or name. */
    from: string;
    /** For the log. */
    reason?: string;
}
export interface NodeOut {
    /** The same for the same name in the same collection, also after a deletion. */
    id: string;
    name: string;
    /** What most passages take it for: person, place, organisation, term, class, ... */
    kind: string;
    /** Passages that mention it under its own names. */
    passage_count: number;
    /** Relations between the centre and it; 0: the centre. */
    hop: number;
    /** Product of the weights along its path. */
    score: number;
    /** Ids of the relations that lead to it from the centre. */
    path: string[];
    /** Where it stands in a file of code; null for anything else. */
    lines?: CodeLinesOut | null;
}
export interface OpenAIErrorDetail {
    message: string;
    type: string;
    /** The parameter that it is about. */
    param: string | null;
    code: string | null;
}
/** An error as the OpenAI API has it. */
export interface OpenAIErrorOut {
    error: OpenAIErrorDetail;
}
export interface PageSpanOut {
    page: number;
    start: number;
    end: number;
}
/** The pages (slides) that have text, and which part of the document's text is on each. */
export interface PagesOut {
    items: PageSpanOut[];
    /** Each page can be had as a picture: the document is a PDF and its file is kept. */
    pictures: boolean;
}
/** A passage of a document. `matched` is the span of the chunk `chunk_id` that the vector leg found. */
export interface PassageOut {
    passage_id: string;
    chunk_id: string | null;
    document_id: string;
    collection: string;
    external_id: string;
    title: string;
    content: string;
    start: number;
    end: number;
    matched: Span | null;
    page: number | null;
    headings: string[];
    /**
     * The fused score, 0 to 1, comparable within one result only. relative_score (the default): the sum over the legs
     * of share times score over the leg's best; rrf: reciprocal ranks, as a share of the best sum possible.
     */
    score: number;
    rerank_score: number | null;
    /** Rank from 1 in each leg that found the passage. */
    ranks: Record<string, number>;
    metadata: Record<string, unknown>;
    token_count: number;
    version: number;
    media_type: string;
}
export interface PathsOut {
    collection: string;
    source: EntityOut;
    target: EntityOut;
    /** Short before long, then by score; empty where nothing joins the two. */
    paths: WayOut[];
}
/** An error. `code` is stable and meant for programs, `detail` for people. */
export interface Problem {
    type: string;
    title: string;
    status: number;
    detail: string;
    instance: string;
    code: string;
    request_id: string;
    errors?: FieldError[] | null;
    [name: string]: unknown;
}
export interface ProblemMeaning {
    code: string;
    status: number;
    title: string;
    meaning: string;
}
/** `done` of `total` steps; `total` is null while unknown. */
export interface ProgressOut {
    done: number;
    total: number | null;
    message: string;
    /** Of files under way, by external id: how much is read, then of a large one embedded, 0 to 1. */
    shares?: Record<string, number>;
}
/** `quote` stands verbatim at start..end (code points) of the document's text. */
export interface ProofOut {
    passage_id: string;
    document_id: string;
    external_id: string;
    title: string;
    page: number | null;
    headings: string[];
    quote: string;
    start: number;
    end: number;
    /** Where it stands in a file of code; null for anything else. */
    lines?: CodeLinesOut | null;
}
export interface QACitation {
    /** The document's id: of files the path. */
    path: string;
    title: string;
    /** First and last line of the quote, such as 12-14; null once the document is gone. */
    lines: string | null;
    /** `url` of the document's metadata. */
    url: string | null;
    /** The answer does not rest on it: what else may answer, or comes nearest. */
    instead?: boolean;
}
export interface QARequest {
    question: string;
    /** Default: the setting rag.collectionName. */
    collection?: string | null;
    /** Follow symbols and entities of the knowledge graph. */
    use_graph?: boolean;
    /** What was read is kept for its next question, for iterative.idleMinutes; none: nothing is kept. */
    session_id?: string | null;
    /** One pass, without looking for what is missing; `cgrag` is null then. */
    quick_mode?: boolean;
    /** Default: the setting rag.qa.temperature. */
    temperature?: number | null;
    /** Names the run, for GET /runs/{run_id}; made if not given. */
    run_id?: string | null;
}
export interface QAResponse {
    answer: string;
    /** The n-th is `[n]` in the answer. */
    citations: QACitation[];
    confidence: "high" | "medium" | "low";
    disclaimer: string;
    search_quality: SearchQuality;
    cgrag: CGRAGMetadata | null;
    /** How much of what there is the answer looked at. */
    coverage: Coverage;
}
export interface QueryBody {
    question: string;
    /** Default: the setting rag.collectionName. */
    collection?: string | null;
    /**
     * How to answer; auto chooses by the message, a named strategy always retrieves. Installed packages may add
     * others.
     */
    strategy?: "auto" | "fast" | "enhanced" | "react" | "iterative" | "planned" | "corrective" | (string & {});
    /** Server-sent events; so does Accept: text/event-stream. */
    stream?: boolean;
    /** Only documents whose metadata contain this object. */
    filters?: Record<string, unknown> | null;
    /** The conversation that the question belongs to. */
    session_id?: string | null;
    /**
     * The least epoch of the collection that is to be read, as what wrote returned it (`epoch`), or an object with one
     * for each collection. Read replicas that are behind are passed over; 409 where there is no such state.
     */
    min_epoch?: number | Record<string, number> | null;
    /** Names the run, for GET /runs/{run_id} and /traces/{run_id}; 409 if in use, made if not given. */
    run_id?: string | null;
    /** The run goes on when its client leaves; GET /runs/{run_id}/events continues it. */
    resumable?: boolean;
}
/** What the process depends on. `problems` is empty when all is well; a warning there need not mean not ready. */
export interface Ready {
    status: string;
    problems: string[];
    database: Record<string, unknown>;
    /** Where reads go besides the primary (CAIRN_REPLICA_URL). */
    replicas?: Record<string, unknown>[];
    /** Reads that a replica might have answered and the primary did. */
    primary_reads?: number;
    /** All that the process serves, the default one first, where tenants live in several. */
    databases?: Record<string, unknown>[];
    worker: Record<string, unknown>;
    queue: Record<string, unknown> | null;
    settings: Record<string, unknown>;
    models: Record<string, unknown>;
    vector: Record<string, unknown>;
    /** Traces lost since the start. */
    traces_dropped: number;
    /**
     * Models of providers. `problem`: why the last call failed, where the server or the settings are to blame; it
     * stands in `problems` too.
     */
    circuits?: Record<string, unknown>[];
}
/** The vector leg, compared with the exact scan on a sample of stored vectors. */
export interface RecallOut {
    /** exact, dedicated (an index of its own) or shared. */
    regime: string;
    model: string;
    k: number;
    sample: number;
    /** Mean share of the true k neighbours that were found, 0 to 1. */
    recall: number;
    /** HNSW search breadth in force. */
    ef_search: number;
    checked_at: string;
}
export interface Reindex {
    /** Also documents that would come out as they are. */
    force?: boolean;
}
export interface RelationOut {
    id: string;
    /** What the words between the two say (born_in, founded_by), or co_occurs, which has no direction. */
    kind: string;
    source: EntityOut;
    target: EntityOut;
    /** How closely the two belong together, above 0 and below 1. */
    weight: number;
    /** Passages that prove it. */
    evidence_count: number;
    /** The strongest of them. */
    proof: ProofOut;
}
/**
 * A source as its conversation remembers it. `quote`: at most 200 characters from `start` on, empty once the
 * document is deleted. `changed`: the document has another text by now.
 */
export interface RememberedSource {
    kind: "document" | "web";
    n: number;
    cited: boolean;
    document_id: string | null;
    external_id: string;
    passage_id: string | null;
    chunk_id: string | null;
    title: string;
    page: number | null;
    quote: string;
    start: number;
    end: number;
    version: number;
    url: string | null;
    changed: boolean;
    deleted: boolean;
}
/**
 * A `file_citation` has `file_id`, `filename` and `index`, the place of `[n]` in the text; a `url_citation`, of a
 * page of the web, `url`, `title`, `start_index` and `end_index`.
 */
export interface ResponseAnnotation {
    type: "file_citation" | "url_citation";
    [name: string]: unknown;
}
/** A request of the OpenAI API. What is not named here is accepted and has no effect, as `cairn.ignored` says. */
export interface ResponseBody {
    /** A collection, or `cairn/<collection>:<strategy>`. */
    model: string;
    /** The question, or messages of which the last one is it. */
    input: string | DialogueMessage[];
    /** Has no effect. */
    instructions?: string | null;
    stream?: boolean | null;
    /** Default: the setting rag.qa.temperature. */
    temperature?: number | null;
    /** None: they are refused. */
    tools?: unknown[] | null;
    /** `{format: {type: text}}`. */
    text?: Record<string, unknown> | null;
    /** Refused: send the messages so far. */
    previous_response_id?: string | null;
    /** Refused: send the messages so far. */
    conversation?: unknown;
    /** false. */
    background?: boolean | null;
    /** Comes back with the answer. */
    metadata?: Record<string, string> | null;
    /** Cairn's own: only documents whose metadata contain this object. */
    filters?: Record<string, unknown> | null;
    [name: string]: unknown;
}
export interface ResponseMessage {
    type?: "message";
    id: string;
    status: "in_progress" | "completed";
    role?: "assistant";
    content: ResponseText[];
}
export interface ResponseOut {
    id: string;
    object?: "response";
    created_at: number;
    status: "in_progress" | "completed" | "failed";
    model: string;
    output?: ResponseMessage[];
    error?: Record<string, string> | null;
    incomplete_details?: null;
    instructions?: null;
    metadata?: Record<string, string>;
    parallel_tool_calls?: boolean;
    previous_response_id?: null;
    store?: false;
    temperature?: number | null;
    tool_choice?: "none";
    tools?: unknown[];
    top_p?: null;
    usage?: ResponseUsage | null;
    /** What `[n]` stands on, as POST /query has it. */
    citations?: CitationOut[];
    /** Once it is completed. */
    cairn?: Extension | null;
}
export interface ResponseText {
    type?: "output_text";
    text: string;
    annotations: ResponseAnnotation[];
    logprobs?: unknown[];
}
/** Of the chat model; all 0 where the answer is a quotation, which no model wrote. */
export interface ResponseUsage {
    input_tokens: number;
    input_tokens_details: Record<string, number>;
    output_tokens: number;
    output_tokens_details: Record<string, number>;
    total_tokens: number;
}
export interface RetrievalBody {
    /** A collection. */
    knowledge_id: string;
    query: string;
    retrieval_setting?: RetrievalSetting;
    metadata_condition?: MetadataCondition | null;
    [name: string]: unknown;
}
export interface RetrievalOut {
    records: RetrievalRecord[];
}
export interface RetrievalRecord {
    content: string;
    /** 0 to 1: of the best one the confidence of the search, of others their share of it. */
    score: number;
    title: string;
    /** Of the document, and where the passage stands: document_id, path, page, start, end, headings. */
    metadata: Record<string, unknown>;
}
export interface RetrievalSetting {
    top_k?: number;
    /** Passages of a lower score are left out. */
    score_threshold?: number | null;
    [name: string]: unknown;
}
export interface RunOut {
    id: string;
    status: "running" | "succeeded" | "failed" | "cancelled";
    resumable: boolean;
    /** Null for one that is not resumable, while it runs. */
    started_at: string | null;
    /** Of a resumable run that has ended. */
    finished_at: string | null;
    /** What it does, or did last. */
    step: string | null;
    percent: number | null;
    cancel_requested: boolean;
    /** Events stored so far; null for a run that is not resumable. */
    last_event_id: number | null;
    /** Where to read its events; null for a run that is not resumable. */
    events_url: string | null;
    /** The answer cites a document that has other content by now. */
    source_changed: boolean;
}
export interface SearchBody {
    /** Words or a question; any text is fine, nothing in it is an operator. */
    query: string;
    /** Default: the setting rag.collectionName. */
    collection?: string | null;
    /** Several at once, in place of `collection`. */
    collections?: string[] | null;
    top_k?: number;
    /**
     * Default: vector, lexical and (graph.search) graph, which is followed where a question names something and goes
     * through another one, or names several things; vector alone when rag.hybridSearchEnabled is off. Named here, the
     * graph is asked about any query.
     */
    legs?: ("vector" | "lexical" | "graph")[] | null;
    /** Shorthand for `legs`; hybrid is the default, text the same without the graph. */
    mode?: "hybrid" | "text" | "vector" | "lexical" | "graph" | null;
    /**
     * How the legs are merged: by scores relative to each leg's best, or by reciprocal ranks. Default: the setting
     * retrieve.fusion.
     */
    fusion?: "relative_score" | "rrf" | null;
    /** Default: rag.rerankingEnabled. Under rerankerProvider auto a chat model reranks only where this is true. */
    rerank?: boolean | null;
    /** Only documents whose metadata contain this object. */
    filters?: Record<string, unknown> | null;
    /** document: the best passage of each. */
    group_by?: "passage" | "document";
    /** false: the matched chunk's text where the vector leg found one. */
    expand_parents?: boolean;
    /** Search by the vectors of this embedding model instead of those that serve, to compare them. */
    model?: string | null;
    /**
     * The least epoch of the collection that is to be read, as what wrote returned it (`epoch`), or an object with one
     * for each collection. Read replicas that are behind are passed over; 409 where there is no such state.
     */
    min_epoch?: number | Record<string, number> | null;
    /** false: neither answered from the retrieval cache nor stored in it. */
    cache?: boolean;
}
export interface SearchOut {
    results: PassageOut[];
    legs_used: ("vector" | "lexical" | "graph")[];
    /** Leg to reason; never hidden. */
    legs_failed: Record<string, string>;
    /** Whether each leg looked at everything that it might have returned. */
    exact: boolean;
    /** Found by an earlier search; no collection has changed since. */
    from_cache: boolean;
    /** What did not work as asked. */
    degraded: string[];
    /** What made the order, or null: the order is that of fusion. */
    reranker: string | null;
    /** Per leg, 0 to 1. */
    confidence: Record<string, number>;
    /** What each leg counted in the order, and why; null: nothing was searched. */
    weights: WeightsOut | null;
    timings_ms: Record<string, number>;
    trace_id: string;
    /** State of each collection that was read. */
    epochs: Record<string, number>;
    /** As of an answer: `by_purpose` has what hosted embedding and reranking cost; empty where none was called. */
    usage: Record<string, unknown>;
}
export interface SearchQuality {
    semantic_searched: boolean;
    fts_searched: boolean;
    results_found: number;
    results_used: number;
}
/** `text` stands verbatim at start..end (code points) of the document's text. */
export interface SentenceOut {
    text: string;
    passage_id: string;
    document_id: string;
    start: number;
    end: number;
}
/**
 * A sentence of the answer at start..end (code points of the answer's text). `score` in 0..1; `sources` are the
 * numbers of the sources that support it best; `issues` name what they do not hold (a number, a name, a negation)
 * and are empty where it is supported, `kinds` say of which kind each is; `computed` are numbers that follow from
 * two of the sources' ("48 d = 30 d + 18 d").
 */
export interface SentenceSupport {
    start: number;
    end: number;
    score: number;
    supported: boolean;
    sources?: number[];
    issues?: string[];
    computed?: string[];
    kinds?: ("number" | "name" | "turned" | "command" | "echo" | "reason" | "unstated")[];
}
/** What is not named stays as it is. */
export interface SourceChangeIn {
    /** What its kind takes, such as `include`: see the guide. */
    options?: Record<string, string> | null;
    /** All of them anew. What it is opened with. Kept encrypted, and never shown again. */
    secrets?: Record<string, string> | null;
    /** Seconds between two synchronisations; 0: only when somebody asks. */
    interval_seconds?: number | null;
    /** Who may read, by folder of the source; the empty name: all of it. */
    access?: Record<string, string[]> | null;
    /** Share of its files that may be gone at once; more pauses it instead of deleting. */
    most_deleted?: number | null;
    /** Files read in a second at most, from 0.01 on; 0: no limit. */
    requests_per_second?: number | null;
    /** Leave it alone, or go on. */
    paused?: boolean | null;
}
export interface SourceDetail {
    id: string;
    collection: string;
    address: string;
    prefix: string;
    options: Record<string, string>;
    /** Names of the secrets that it has. */
    secrets: string[];
    interval_seconds: number;
    access: Record<string, string[]>;
    most_deleted: number;
    requests_per_second: number | null;
    paused: boolean;
    /** Why it is paused, or what was left undone. */
    note: string | null;
    /** A job waits or works. */
    running: boolean;
    created_at: string;
    /** When it is synchronised next. */
    due_at: string | null;
    last_started_at: string | null;
    /** When a synchronisation last came to its end. */
    last_finished_at: string | null;
    /** Why the last one failed. */
    last_error: string | null;
    /** Failed synchronisations one after the other; the pauses between them grow. */
    failures: number;
    /** The job of the last synchronisation. */
    job_id: string | null;
    /** Files that are known of it. */
    files: number;
    /** Of these, files that are not indexed. */
    failed: number;
    /** What the last synchronisation did. */
    counts: Record<string, number> | null;
    /** Its last synchronisations, at most 20, newest first, as long as jobs are kept (`jobs.retentionDays`). */
    runs: SourceRunOut[];
    /** At most 50, by path. */
    failed_files: FailedFileOut[];
}
export interface SourceIn {
    /** It is made if there is none. */
    collection: string;
    /** Where the files are, without credentials. */
    address: string;
    /** What ids begin with, before a slash; left out: the end of the address. */
    prefix?: string | null;
    /** What its kind takes, such as `include`: see the guide. */
    options?: Record<string, string>;
    /** What it is opened with. Kept encrypted, and never shown again. */
    secrets?: Record<string, string>;
    /** Seconds between two synchronisations; 0: only when somebody asks. */
    interval_seconds?: number;
    /** Who may read, by folder of the source; the empty name: all of it. */
    access?: Record<string, string[]>;
    /** Share of its files that may be gone at once; more pauses it instead of deleting. */
    most_deleted?: number;
    /** Files read in a second at most, from 0.01 on; 0: no limit. */
    requests_per_second?: number | null;
    /** Take the place of documents with the same ids that came otherwise. */
    replace?: boolean;
}
export interface SourceList {
    items: ConnectedSourceOut[];
}
/** A passage that the answer is made of; of kind `web` an excerpt of a page, whose ids stand for its `url` alone. */
export interface SourceOut {
    passage_id: string;
    chunk_id: string | null;
    document_id: string;
    collection: string;
    external_id: string;
    title: string;
    content: string;
    start: number;
    end: number;
    matched: Span | null;
    page: number | null;
    headings: string[];
    /**
     * The fused score, 0 to 1, comparable within one result only. relative_score (the default): the sum over the legs
     * of share times score over the leg's best; rrf: reciprocal ranks, as a share of the best sum possible.
     */
    score: number;
    rerank_score: number | null;
    /** Rank from 1 in each leg that found the passage. */
    ranks: Record<string, number>;
    metadata: Record<string, unknown>;
    token_count: number;
    version: number;
    media_type: string;
    kind?: "document" | "web";
    /** Number of the source, from 1. */
    n: number;
    url?: string | null;
}
export interface SourceRemoved {
    documents_deleted: number;
}
export interface SourceRunOut {
    job_id: string;
    /** Of the job; `paused`: it paused the source, or did nothing since somebody had. */
    state: "queued" | "running" | "succeeded" | "failed" | "parked" | "cancelled" | "paused";
    started_at: string | null;
    finished_at: string | null;
    /** What it did; null where it did not come to its end. */
    counts: Record<string, number> | null;
    /** What it left undone. */
    note: string | null;
    error: string | null;
}
/** A half-open range of code points in the document's text. */
export interface Span {
    start: number;
    end: number;
}
/** What a stage of a run made of a passage. */
export interface StageOut {
    /**
     * collection, access, conditions, one for each leg, fusion, result; of a run of several searches also `search 2`
     * and merged.
     */
    stage: string;
    verdict: string;
    /** From 1; null where it has none. */
    rank: number | null;
    score: number | null;
}
export interface SyncIn {
    /** Read files again that failed, though they did not change. */
    retry_failed?: boolean;
    /** However many files are gone, their documents go. Resumes it. */
    accept_deletions?: boolean;
}
export interface TenantUsageOut {
    name: string;
    kept: HoldingOut;
    limits: HoldingOut;
}
/** A part of the normalised text, in which every span (`start`, `end`) counts code points. */
export interface TextOut {
    id: string;
    /** Version of the document that this is the text of. */
    version: number;
    start: number;
    end: number;
    /** Of the whole text. */
    length: number;
    text: string;
}
export interface TraceOut {
    id: string;
    started_at: string;
    kind: string;
    collections: string[];
    question: string;
    strategy: string | null;
    outcome: string;
    error: string | null;
    plan: Record<string, unknown>;
    timings_ms: Record<string, number>;
    legs_used: string[];
    legs_failed: Record<string, string>;
    degraded: string[];
    settings_revision: string;
    epochs: Record<string, number>;
    answer: Record<string, unknown>;
    usage: Record<string, unknown>;
    document_ids: string[];
    session_id: string | null;
    legs: LegOut[];
}
/** What became of each file. */
export interface UploadOut {
    uploaded: Uploaded[];
    failed: FailedDocument[];
    counts: Counts;
    /** Of the collection, with this written: `min_epoch` of a request that must see it. */
    epoch: number;
}
export interface Uploaded {
    id: string;
    /** The file's name as a relative path. */
    external_id: string;
    chunk_count: number;
    /** The collection had this file with this content already. */
    duplicate: boolean;
    /** What of the file was not read, such as scanned pages. */
    notes?: string[];
    /** replaced: the collection had it with other content; updated: with other metadata only. */
    change: "added" | "replaced" | "updated" | "unchanged";
}
export interface UrlCitation {
    /** Of `[n]` in the content, in code points. */
    start_index: number;
    end_index: number;
    url: string;
    title: string;
}
export interface UrlsBody {
    /** Addresses of pages and files; each is, without a fragment, the external id of its document. */
    urls: string[];
    /** Stored with each document. */
    metadata?: Record<string, unknown>;
}
export interface UsageOut {
    tenant: TenantUsageOut;
    /** Of the caller; null where nothing is counted, such as without keys. */
    key: KeyUsageOut | null;
    /** What it may use; null with `key`. */
    limits: KeyLimitsOut | null;
    /** Of all keys in use, for callers with scope admin; else empty. */
    keys: KeyUsageOut[];
}
export interface WayOut {
    /** From one end to the other. */
    entities: EntityOut[];
    /** Between each two of them; a relation may point backwards. */
    relations: RelationOut[];
    /** Product of the weights. */
    score: number;
}
export interface WeightsOut {
    /** Of the vector and the lexical leg together. */
    text: number;
    graph: number;
    /** What each leg counted; they sum to 1. One that did not run is missing. */
    legs: Record<string, number>;
    /** ADAPTIVE: neither text nor graph was sure, so neither gave weight away. */
    mode: "HYBRID" | "GRAPH_ONLY" | "TEXT_ONLY" | "ADAPTIVE";
    fusion: "relative_score" | "rrf";
    /** Why the graph was followed or not, and how much it counts. */
    reason: string;
    /** Who decided: names (what the query names), rules or a model (by the type of the question), caller, settings. */
    classifier: string;
}
