import { errorOf, UnreachableError } from "./errors.js";
import { readEvents } from "./events.js";
const BATCH = 200;
/** The API of a server. Every method throws CairnError for what the server refuses, UnreachableError where none answers. */
export class Cairn {
    #url;
    #key;
    #fetch;
    constructor(options = {}) {
        this.#url = (options.url ?? "http://127.0.0.1:8000").replace(/\/+$/, "");
        this.#key = options.key;
        this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
    }
    /** The answer, with citations. */
    async ask(question, options = {}) {
        const { include, signal, ...body } = options;
        return this.#json("POST", `/query${included(include)}`, { body: { ...body, question }, signal });
    }
    /** The same run as it goes; the last event is `answer`, whose text counts, or `cancelled`. Who stops iterating ends the run. */
    async *stream(question, options = {}) {
        const { include, signal, ...body } = options;
        const sent = { body: { ...body, question, stream: true }, signal };
        const response = await this.#send("POST", `/query${included(include)}`, sent);
        if (response.body === null)
            throw new UnreachableError("the answer has no body");
        yield* whileConnected(readEvents(response.body));
    }
    /** Passages, best first. */
    async search(query, options = {}) {
        const { signal, ...body } = options;
        return this.#json("POST", "/search", { body: { ...body, query }, signal });
    }
    /** End a run; the event `run` tells its id. */
    async cancel(runId, options = {}) {
        return this.#json("POST", `/runs/${runId}/cancel`, options);
    }
    /** Texts that you have; searchable when it returns. Those that cannot be read are in `failed`. */
    async index(documents, options = {}) {
        const { signal, ...body } = options;
        return this.#json("POST", "/index", { body: { ...body, documents }, signal });
    }
    /** Files; searchable when it returns. A file's name is its external id. Those that cannot be read are in `failed`. */
    async upload(files, options) {
        const form = new FormData();
        for (const file of files)
            form.append("files", blobOf(file), file.name);
        if (options.metadata !== undefined)
            form.append("metadata", JSON.stringify(options.metadata));
        return this.#json("POST", `${under(options.collection)}/documents?wait=true`, { form, signal: options.signal });
    }
    /** All documents of a collection, in order of external id. */
    documents(collection, options = {}) {
        return this.#pages(`${under(collection)}/documents`, options);
    }
    /** All collections, by name. */
    collections(options = {}) {
        return this.#pages("/collections", options);
    }
    /** Remove a document with everything derived from it. */
    async delete(collection, documentId, options = {}) {
        await this.#send("DELETE", `${under(collection)}/documents/${documentId}`, options);
    }
    async *#pages(path, { signal }) {
        let cursor;
        do {
            const after = cursor ? `&cursor=${encodeURIComponent(cursor)}` : "";
            const page = await this.#json("GET", `${path}?limit=${BATCH}${after}`, { signal });
            yield* page.items;
            cursor = page.next_cursor;
        } while (cursor);
    }
    async #json(method, path, sent) {
        const response = await this.#send(method, path, sent);
        try {
            return (await response.json());
        }
        catch (error) {
            throw asUnreachable(error);
        }
    }
    async #send(method, path, sent) {
        const headers = {};
        if (this.#key !== undefined)
            headers["Authorization"] = `Bearer ${this.#key}`;
        if (sent.body !== undefined)
            headers["Content-Type"] = "application/json";
        const body = sent.form ?? (sent.body === undefined ? null : JSON.stringify(sent.body));
        let response;
        try {
            response = await this.#fetch(this.#url + path, {
                method, headers, body, credentials: "omit", redirect: "error", signal: sent.signal ?? null,
            });
        }
        catch (error) {
            throw asUnreachable(error);
        }
        if (!response.ok)
            throw await errorOf(response).catch(asUnreachable);
        return response;
    }
}
async function* whileConnected(events) {
    try {
        yield* events;
    }
    catch (error) {
        throw asUnreachable(error);
    }
}
/** What fetch throws of a connection is a TypeError; what was aborted, and our own errors, stay what they are. */
function asUnreachable(error) {
    if (!(error instanceof TypeError || error instanceof SyntaxError))
        return error;
    return new UnreachableError(`no answer from the server: ${error.message}; is \`cairn serve\` running there?`, { cause: error });
}
function included(include) {
    if (include === undefined)
        return "";
    return `?include=${include === "all" ? include : include.join(",")}`;
}
function under(collection) {
    return `/collections/${encodeURIComponent(collection)}`;
}
function blobOf(file) {
    if (file instanceof Blob)
        return file;
    return file.content instanceof Blob ? file.content : new Blob([file.content]);
}
