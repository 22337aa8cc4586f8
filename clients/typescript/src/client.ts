import { errorOf, UnreachableError } from "./errors.js";
import { type AskEvent, readEvents } from "./events.js";
import type {
  AnswerOut, CollectionOut, CollectionPage, DocumentOut, DocumentPage, IndexDocument, IndexOut, QueryBody, RunOut, SearchBody,
  SearchOut, UploadOut,
} from "./schemas.js";

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

export interface SearchOptions extends Omit<SearchBody, "query">, Cancellable {}

/** A file of the browser or of Node, or a name with content. */
export type UploadFile = File | { name: string; content: Blob | Uint8Array<ArrayBuffer> | string };

const BATCH = 200;

/** The API of a server. Every method throws CairnError for what the server refuses, UnreachableError where none answers. */
export class Cairn {
  readonly #url: string;
  readonly #key: string | undefined;
  readonly #fetch: typeof globalThis.fetch;

  constructor(options: ClientOptions = {}) {
    this.#url = (options.url ?? "http://127.0.0.1:8000").replace(/\/+$/, "");
    this.#key = options.key;
    this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
  }

  /** The answer, with citations. */
  async ask(question: string, options: AskOptions = {}): Promise<AnswerOut> {
    const { include, signal, ...body } = options;
    return this.#json("POST", `/query${included(include)}`, { body: { ...body, question }, signal });
  }

  /** The same run as it goes; the last event is `answer`, whose text counts, or `cancelled`. Who stops iterating ends the run. */
  async *stream(question: string, options: AskOptions = {}): AsyncGenerator<AskEvent> {
    const { include, signal, ...body } = options;
    const sent = { body: { ...body, question, stream: true }, signal };
    const response = await this.#send("POST", `/query${included(include)}`, sent);
    if (response.body === null) throw new UnreachableError("the answer has no body");
    yield* whileConnected(readEvents(response.body));
  }

  /** Passages, best first. */
  async search(query: string, options: SearchOptions = {}): Promise<SearchOut> {
    const { signal, ...body } = options;
    return this.#json("POST", "/search", { body: { ...body, query }, signal });
  }

  /** End a run; the event `run` tells its id. */
  async cancel(runId: string, options: Cancellable = {}): Promise<RunOut> {
    return this.#json("POST", `/runs/${runId}/cancel`, options);
  }

  /** Texts that you have; searchable when it returns. Those that cannot be read are in `failed`. */
  async index(documents: readonly IndexDocument[], options: { collection?: string } & Cancellable = {}): Promise<IndexOut> {
    const { signal, ...body } = options;
    return this.#json("POST", "/index", { body: { ...body, documents }, signal });
  }

  /** Files; searchable when it returns. A file's name is its external id. Those that cannot be read are in `failed`. */
  async upload(
    files: readonly UploadFile[],
    options: { collection: string; metadata?: Record<string, unknown> } & Cancellable,
  ): Promise<UploadOut> {
    const form = new FormData();
    for (const file of files) form.append("files", blobOf(file), file.name);
    if (options.metadata !== undefined) form.append("metadata", JSON.stringify(options.metadata));
    return this.#json("POST", `${under(options.collection)}/documents?wait=true`, { form, signal: options.signal });
  }

  /** All documents of a collection, in order of external id. */
  documents(collection: string, options: Cancellable = {}): AsyncGenerator<DocumentOut> {
    return this.#pages<DocumentOut, DocumentPage>(`${under(collection)}/documents`, options);
  }

  /** All collections, by name. */
  collections(options: Cancellable = {}): AsyncGenerator<CollectionOut> {
    return this.#pages<CollectionOut, CollectionPage>("/collections", options);
  }

  /** Remove a document with everything derived from it. */
  async delete(collection: string, documentId: string, options: Cancellable = {}): Promise<void> {
    await this.#send("DELETE", `${under(collection)}/documents/${documentId}`, options);
  }

  async *#pages<T, P extends { items: T[]; next_cursor?: string | null }>(path: string, { signal }: Cancellable): AsyncGenerator<T> {
    let cursor: string | null | undefined;
    do {
      const after: string = cursor ? `&cursor=${encodeURIComponent(cursor)}` : "";
      const page: P = await this.#json("GET", `${path}?limit=${BATCH}${after}`, { signal });
      yield* page.items;
      cursor = page.next_cursor;
    } while (cursor);
  }

  async #json<T>(method: string, path: string, sent: Sent): Promise<T> {
    const response = await this.#send(method, path, sent);
    try {
      return (await response.json()) as T;
    } catch (error) {
      throw asUnreachable(error);
    }
  }

  async #send(method: string, path: string, sent: Sent): Promise<Response> {
    const headers: Record<string, string> = {};
    if (this.#key !== undefined) headers["Authorization"] = `Bearer ${this.#key}`;
    if (sent.body !== undefined) headers["Content-Type"] = "application/json";
    const body = sent.form ?? (sent.body === undefined ? null : JSON.stringify(sent.body));
    let response: Response;
    try {
      response = await this.#fetch(this.#url + path, {
        method, headers, body, credentials: "omit", redirect: "error", signal: sent.signal ?? null,
      });
    } catch (error) {
      throw asUnreachable(error);
    }
    if (!response.ok) throw await errorOf(response).catch(asUnreachable);
    return response;
  }
}

interface Sent {
  body?: unknown;
  form?: FormData;
  signal?: AbortSignal | undefined;
}

async function* whileConnected(events: AsyncGenerator<AskEvent>): AsyncGenerator<AskEvent> {
  try {
    yield* events;
  } catch (error) {
    throw asUnreachable(error);
  }
}

/** What fetch throws of a connection is a TypeError; what was aborted, and our own errors, stay what they are. */
function asUnreachable(error: unknown): unknown {
  if (!(error instanceof TypeError || error instanceof SyntaxError)) return error;
  return new UnreachableError(`no answer from the server: ${error.message}; is \`cairn serve\` running there?`, { cause: error });
}

function included(include: AskOptions["include"]): string {
  if (include === undefined) return "";
  return `?include=${include === "all" ? include : include.join(",")}`;
}

function under(collection: string): string {
  return `/collections/${encodeURIComponent(collection)}`;
}

function blobOf(file: UploadFile): Blob {
  if (file instanceof Blob) return file;
  return file.content instanceof Blob ? file.content : new Blob([file.content]);
}
