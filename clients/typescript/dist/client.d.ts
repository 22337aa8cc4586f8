import { type AskEvent } from "./events.js";
import type { AnswerOut, CollectionOut, DocumentOut, IndexDocument, IndexOut, QueryBody, RunOut, SearchBody, SearchOut, UploadOut } from "./schemas.js";
export interface ClientOptions {
    /** Address of the server; `http://127.0.0.1:8000`. */
    url?: string | undefined;
    /**
     * A key, where the server asks for one. In a page of yours: one that may do no more than `ask`, of a tenant that has nothing
     * but what its readers may see: whoever opens the page has the key, and it renames and deletes conversations, too.
     */
    key?: string | undefined;
    /** Instead of the fetch that there is. */
    fetch?: typeof globalThis.fetch | undefined;
}
interface Cancellable {
    /** Aborting it ends the request, and a run that is not `resumable`. */
    signal?: AbortSignal | undefined;
}
/** What an answer has besides its text, citations and what they are worth. */
export type Part = "sources" | "route" | "grounding" | "timings_ms";
/** `include`: as `POST /query?include=`; the rest as in its body. */
export interface AskOptions extends Omit<QueryBody, "question" | "stream">, Cancellable {
    include?: readonly Part[] | "all" | undefined;
}
export interface SearchOptions extends Omit<SearchBody, "query">, Cancellable {
}
/** A file of the browser or of Node, or a name with content. */
export type UploadFile = File | {
    name: string;
    content: Blob | Uint8Array<ArrayBuffer> | string;
};
/** The API of a server. Every method throws CairnError for what the server refuses, UnreachableError where none answers. */
export declare class Cairn {
    #private;
    constructor(options?: ClientOptions);
    /** The answer, with citations. */
    ask(question: string, options?: AskOptions): Promise<AnswerOut>;
    /** The same run as it goes; the last event is `answer`, whose text counts, or `cancelled`. Who stops iterating ends the run. */
    stream(question: string, options?: AskOptions): AsyncGenerator<AskEvent>;
    /** Passages, best first. */
    search(query: string, options?: SearchOptions): Promise<SearchOut>;
    /** End a run; the event `run` tells its id. */
    cancel(runId: string, options?: Cancellable): Promise<RunOut>;
    /** Texts that you have; searchable when it returns. Those that cannot be read are in `failed`. */
    index(documents: readonly IndexDocument[], options?: {
        collection?: string;
    } & Cancellable): Promise<IndexOut>;
    /** Files; searchable when it returns. A file's name is its external id. Those that cannot be read are in `failed`. */
    upload(files: readonly UploadFile[], options: {
        collection: string;
        metadata?: Record<string, unknown>;
    } & Cancellable): Promise<UploadOut>;
    /** All documents of a collection, in order of external id. */
    documents(collection: string, options?: Cancellable): AsyncGenerator<DocumentOut>;
    /** All collections, by name. */
    collections(options?: Cancellable): AsyncGenerator<CollectionOut>;
    /** Remove a document with everything derived from it. */
    delete(collection: string, documentId: string, options?: Cancellable): Promise<void>;
}
export {};
