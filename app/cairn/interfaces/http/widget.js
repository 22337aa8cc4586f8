"use strict";
(() => {
  // ../typescript/src/errors.ts
  var CairnError = class extends Error {
    name = "CairnError";
    status;
    code;
    /** All that the server said, such as `errors` with the fields that are wrong. */
    problem;
    /** Seconds after which to try again, where the server knows. */
    retryAfter;
    constructor(problem, retryAfter) {
      super(problem.detail);
      this.problem = problem;
      this.status = problem.status;
      this.code = problem.code;
      const told = problem["retry_after"];
      this.retryAfter = retryAfter ?? (typeof told === "number" ? told : void 0);
    }
    /** Names the request in the server's log. */
    get requestId() {
      return this.problem.request_id;
    }
  };
  var UnreachableError = class extends Error {
    name = "UnreachableError";
  };
  async function errorOf(response) {
    const text = await response.text();
    const after = Number.parseFloat(response.headers.get("Retry-After") ?? "");
    return new CairnError(readProblem(text) ?? unknownProblem(response, text), Number.isNaN(after) ? void 0 : after);
  }
  function readProblem(text) {
    try {
      const found = JSON.parse(text);
      return typeof found === "object" && found !== null && "code" in found && "detail" in found ? found : void 0;
    } catch {
      return void 0;
    }
  }
  function unknownProblem(response, text) {
    const detail = `HTTP ${response.status}: ${text.slice(0, 200).trim() || "no reason given"}`;
    const requestId = response.headers.get("X-Request-ID") ?? "";
    return {
      type: "about:blank",
      title: response.statusText,
      status: response.status,
      detail,
      instance: "",
      code: "unknown",
      request_id: requestId
    };
  }

  // ../typescript/src/events.ts
  async function* readEvents(body) {
    for await (const [name, data] of readFrames(body)) {
      if (name === "error") throw new CairnError(data);
      yield name === "answer" ? { event: name, answer: data } : { event: name, ...data };
      if (name === "answer" || name === "cancelled") return;
    }
    throw new UnreachableError("the connection ended before the answer");
  }
  async function* readFrames(body) {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    let rest = "";
    let name = "";
    let data = [];
    try {
      for (; ; ) {
        const { done, value } = await reader.read();
        if (done) return;
        const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines.map((one) => one.replace(/\r$/, ""))) {
          if (line.startsWith("event:")) name = line.slice(6).trimStart();
          else if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
          else if (line === "" && data.length > 0) {
            yield [name, JSON.parse(data.join("\n"))];
            name = "";
            data = [];
          }
        }
      }
    } finally {
      await reader.cancel().catch(() => void 0);
    }
  }

  // ../typescript/src/client.ts
  var BATCH = 200;
  var Cairn = class {
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
      if (response.body === null) throw new UnreachableError("the answer has no body");
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
      for (const file of files) form.append("files", blobOf(file), file.name);
      if (options.metadata !== void 0) form.append("metadata", JSON.stringify(options.metadata));
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
        return await response.json();
      } catch (error) {
        throw asUnreachable(error);
      }
    }
    async #send(method, path, sent) {
      const headers = {};
      if (this.#key !== void 0) headers["Authorization"] = `Bearer ${this.#key}`;
      if (sent.body !== void 0) headers["Content-Type"] = "application/json";
      const body = sent.form ?? (sent.body === void 0 ? null : JSON.stringify(sent.body));
      let response;
      try {
        response = await this.#fetch(this.#url + path, {
          method,
          headers,
          body,
          credentials: "omit",
          redirect: "error",
          signal: sent.signal ?? null
        });
      } catch (error) {
        throw asUnreachable(error);
      }
      if (!response.ok) throw await errorOf(response).catch(asUnreachable);
      return response;
    }
  };
  async function* whileConnected(events) {
    try {
      yield* events;
    } catch (error) {
      throw asUnreachable(error);
    }
  }
  function asUnreachable(error) {
    if (!(error instanceof TypeError || error instanceof SyntaxError)) return error;
    return new UnreachableError(`no answer from the server: ${error.message}; is \`cairn serve\` running there?`, { cause: error });
  }
  function included(include) {
    if (include === void 0) return "";
    return `?include=${include === "all" ? include : include.join(",")}`;
  }
  function under(collection) {
    return `/collections/${encodeURIComponent(collection)}`;
  }
  function blobOf(file) {
    if (file instanceof Blob) return file;
    return file.content instanceof Blob ? file.content : new Blob([file.content]);
  }

  // src/style.ts
  var STYLE = `
:host {
  --ground: #ffffff; --ink: #1c2321; --muted: #56605c; --line: #cfd6d3; --accent: #0b6b53; --on-accent: #ffffff; --mark: #fff0b8;
  --bad: #a3271c;
  display: block; color-scheme: light; font: 1rem/1.5 system-ui, sans-serif; color: var(--cairn-ink, var(--ink));
}
@media (prefers-color-scheme: dark) {
  :host(:not([data-theme="light"])) {
    --ground: #161b19; --ink: #e8edeb; --muted: #a9b4af; --line: #3d4743; --accent: #6fd3b4; --on-accent: #06261d; --mark: #5a4a10;
    --bad: #ff9c8f; color-scheme: dark;
  }
}
:host([data-theme="dark"]) {
  --ground: #161b19; --ink: #e8edeb; --muted: #a9b4af; --line: #3d4743; --accent: #6fd3b4; --on-accent: #06261d; --mark: #5a4a10;
  --bad: #ff9c8f; color-scheme: dark;
}
section {
  background: var(--cairn-ground, var(--ground)); border: 1px solid var(--line); border-radius: .6rem; padding: 1rem; max-width: 44rem;
}
h2 { font-size: 1.05rem; margin: 0 0 .6rem; } h3 { font-size: .9rem; margin: 1rem 0 .3rem; color: var(--muted); }
form { display: flex; flex-wrap: wrap; gap: .5rem; align-items: end; }
label { flex: 1 1 14rem; font-size: .85rem; color: var(--muted); }
input {
  box-sizing: border-box; width: 100%; margin-top: .2rem; padding: .5rem .6rem; font: inherit; font-size: 1rem; background: transparent;
  color: var(--cairn-ink, var(--ink));
  border: 1px solid var(--muted); border-radius: .4rem;
}
form > button {
  padding: .5rem 1rem; font: inherit; font-weight: 600; cursor: pointer; border: 1px solid var(--cairn-accent, var(--accent));
  border-radius: .4rem; background: var(--cairn-accent, var(--accent)); color: var(--on-accent);
}
form > button[type="button"] { background: transparent; color: inherit; }
[hidden] { display: none !important; }
:focus-visible { outline: 2px solid var(--cairn-accent, var(--accent)); outline-offset: 2px; }
.status { min-height: 1.5em; margin: .6rem 0 0; font-size: .85rem; color: var(--muted); }
.status.bad { color: var(--bad); }
.answer p, .answer ul, .answer pre { margin: .5rem 0; overflow-wrap: anywhere; white-space: pre-wrap; }
.answer ul { padding-left: 1.2rem; white-space: normal; }
.answer button {
  font: inherit; font-size: .85em; padding: 0 .15rem; border: 0; background: none; color: var(--cairn-accent, var(--accent));
  text-decoration: underline; cursor: pointer;
}
ol { list-style: none; margin: 0; padding: 0; }
details { border-top: 1px solid var(--line); padding: .35rem 0; } summary { cursor: pointer; overflow-wrap: anywhere; }
blockquote { margin: .4rem 0; padding-left: .8rem; border-left: 3px solid var(--line); white-space: pre-wrap; overflow-wrap: anywhere; }
.where { font-size: .85rem; color: var(--muted); }
mark { background: var(--mark); color: inherit; }
`;

  // src/texts.ts
  var TEXTS = {
    en: {
      title: "Ask the documents",
      label: "Your question",
      ask: "Ask",
      stop: "Stop",
      working: "Searching …",
      done: "Answered.",
      unsure: "Not sure: compare the sources.",
      unknown: "The documents do not say.",
      sources: "Sources",
      source: "Open source",
      stopped: "Stopped.",
      refused: "This page may not ask here.",
      missing: "What is asked here is not there.",
      invalid: "The question could not be taken.",
      busy: "Too much is asked just now; try again in a moment.",
      broken: "The server failed; try again later.",
      unreachable: "The server cannot be reached."
    },
    fr: {
      title: "Interroger les documents",
      label: "Votre question",
      ask: "Demander",
      stop: "Arrêter",
      working: "Recherche …",
      done: "Réponse trouvée.",
      unsure: "Incertain : comparez les sources.",
      unknown: "Les documents ne le disent pas.",
      sources: "Sources",
      source: "Ouvrir la source",
      stopped: "Arrêté.",
      refused: "Cette page n’a pas le droit de poser de questions ici.",
      missing: "Ce qui est interrogé ici n’existe pas.",
      invalid: "La question n’a pas pu être prise.",
      busy: "Trop de questions en ce moment ; réessayez dans un instant.",
      broken: "Le serveur a échoué ; réessayez plus tard.",
      unreachable: "Le serveur est injoignable."
    },
    de: {
      title: "Die Dokumente fragen",
      label: "Ihre Frage",
      ask: "Fragen",
      stop: "Anhalten",
      working: "Suche läuft …",
      done: "Beantwortet.",
      unsure: "Nicht sicher: bitte die Quellen vergleichen.",
      unknown: "Die Dokumente sagen es nicht.",
      sources: "Quellen",
      source: "Quelle öffnen",
      stopped: "Angehalten.",
      refused: "Diese Seite darf hier nicht fragen.",
      missing: "Was hier gefragt wird, gibt es nicht.",
      invalid: "Die Frage konnte nicht angenommen werden.",
      busy: "Es wird gerade zu viel gefragt; bitte gleich noch einmal versuchen.",
      broken: "Der Server ist gescheitert; bitte später noch einmal versuchen.",
      unreachable: "Der Server ist nicht zu erreichen."
    },
    es: {
      title: "Preguntar a los documentos",
      label: "Su pregunta",
      ask: "Preguntar",
      stop: "Detener",
      working: "Buscando …",
      done: "Respondida.",
      unsure: "No es seguro: compare las fuentes.",
      unknown: "Los documentos no lo dicen.",
      sources: "Fuentes",
      source: "Abrir la fuente",
      stopped: "Detenido.",
      refused: "Esta página no puede preguntar aquí.",
      missing: "Lo que aquí se consulta no existe.",
      invalid: "No se ha podido aceptar la pregunta.",
      busy: "Hay demasiadas preguntas ahora; inténtelo dentro de un momento.",
      broken: "El servidor ha fallado; inténtelo más tarde.",
      unreachable: "No se puede alcanzar el servidor."
    },
    it: {
      title: "Chiedere ai documenti",
      label: "La sua domanda",
      ask: "Chiedi",
      stop: "Ferma",
      working: "Ricerca in corso …",
      done: "Risposta trovata.",
      unsure: "Non sicuro: confronti le fonti.",
      unknown: "I documenti non lo dicono.",
      sources: "Fonti",
      source: "Apri la fonte",
      stopped: "Fermato.",
      refused: "Questa pagina non può fare domande qui.",
      missing: "Ciò che si interroga qui non esiste.",
      invalid: "Non è stato possibile accettare la domanda.",
      busy: "Ci sono troppe domande in questo momento; riprovi tra poco.",
      broken: "Il server non ci è riuscito; riprovi più tardi.",
      unreachable: "Il server non è raggiungibile."
    }
  };
  function textsOf(languages) {
    const codes = languages.map((one) => one.slice(0, 2).toLowerCase());
    const code = codes.find((one) => one in TEXTS) ?? "en";
    return [code, TEXTS[code]];
  }

  // src/widget.ts
  var LONGEST = 4e3;
  var PIECES = /(\[\d{1,4}\]|\*\*[^*\n]+\*\*|`[^`\n]+`)/;
  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }
  var Widget = class {
    #cairn;
    #collection;
    #texts;
    #isEnglish;
    // as is what the server says of its progress
    #input;
    #stop;
    #status = make("p", { class: "status", role: "status" });
    // busy while it is written: a screen reader says the whole, once
    #answer = make("div", { class: "answer", "aria-live": "polite", "aria-busy": "false" });
    #sources = make("ol");
    #below;
    #asking;
    constructor(script2) {
      const { collection, key, lang, theme, title } = script2.dataset;
      const [code, texts] = textsOf([lang ?? "", document.documentElement.lang, ...navigator.languages]);
      this.#texts = texts;
      this.#isEnglish = code === "en";
      this.#collection = collection;
      const url = new URL(".", script2.src).href;
      this.#cairn = new Cairn({ url, key });
      this.#input = make("input", { type: "text", maxlength: String(LONGEST), required: "", autocomplete: "off", enterkeyhint: "search" });
      this.#stop = make("button", { type: "button", hidden: "" }, texts.stop);
      const form = make("form", {}, make("label", {}, texts.label, this.#input), make("button", {}, texts.ask), this.#stop);
      this.#below = make("div", { hidden: "" }, make("h3", {}, texts.sources), this.#sources);
      const named = title ?? texts.title;
      const section = make("section", { lang: code, "aria-label": named });
      section.append(make("h2", {}, named), form, this.#status, this.#answer, this.#below);
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        void this.#ask(this.#input.value.trim());
      });
      this.#stop.addEventListener("click", () => this.#asking?.abort());
      section.addEventListener("keydown", (event) => {
        if (event.key === "Escape") this.#asking?.abort();
      });
      const host = make("div", { class: "cairn-widget", ...theme === void 0 ? {} : { "data-theme": theme } });
      const shadow = host.attachShadow({ mode: "open" });
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(STYLE);
      shadow.adoptedStyleSheets = [sheet];
      shadow.append(section);
      place(host, script2);
    }
    async #ask(question) {
      if (question === "") return;
      this.#asking?.abort();
      const asking = new AbortController();
      this.#asking = asking;
      this.#show("", []);
      this.#tell(this.#texts.working);
      this.#answer.setAttribute("aria-busy", "true");
      this.#stop.hidden = false;
      try {
        const options = { signal: asking.signal, ...this.#collection === void 0 ? {} : { collection: this.#collection } };
        let written = "";
        for await (const event of this.#cairn.stream(question, options)) {
          if (event.event === "progress" && this.#isEnglish && event.message !== void 0) this.#tell(event.message);
          if (event.event === "token") this.#show(written += event.text, []);
          if (event.event === "answer") this.#end(event.answer);
          if (event.event === "cancelled") this.#tell(this.#texts.stopped);
        }
      } catch (error) {
        if (this.#asking !== asking) return;
        if (asking.signal.aborted) this.#tell(this.#texts.stopped);
        else this.#tell(this.#explain(error), true);
      } finally {
        if (this.#asking === asking) {
          this.#asking = void 0;
          this.#stop.hidden = true;
          this.#answer.setAttribute("aria-busy", "false");
        }
      }
    }
    /** In the reader's language what kind of failure it is, and behind that what the server says, which is English. */
    #explain(error) {
      const said = error instanceof Error ? error.message : String(error);
      return `${kindOf(error, this.#texts)} (${said})`;
    }
    #end(answer) {
      const verdicts = { yes: this.#texts.done, unsure: this.#texts.unsure, no: this.#texts.unknown };
      this.#show(answer.answer, answer.citations);
      this.#tell(verdicts[answer.answered]);
    }
    #tell(text, isBad = false) {
      this.#status.textContent = text;
      this.#status.classList.toggle("bad", isBad);
    }
    #show(text, citations) {
      const opened = new Map(citations.map((one) => [one.n, this.#source(one)]));
      this.#answer.replaceChildren(...blocks(text, (n) => this.#link(n, opened.get(n))));
      this.#sources.replaceChildren(...[...opened.values()].map((details) => make("li", {}, details)));
      this.#below.hidden = opened.size === 0;
    }
    #link(n, details) {
      if (details === void 0) return document.createTextNode(`[${n}]`);
      const button = make("button", { type: "button", "aria-label": `${this.#texts.source} ${n}` }, `[${n}]`);
      button.addEventListener("click", () => {
        details.open = true;
        details.querySelector("summary")?.focus();
      });
      return button;
    }
    #source(citation) {
      const page = citation.page === null ? "" : `, p. ${citation.page}`;
      const summary = make("summary", {}, `[${citation.n}] ${citation.title || citation.external_id}${page}`);
      const details = make("details", {}, summary, make("blockquote", {}, ...quoted(citation)));
      const where = citation.headings.join(" › ");
      if (where !== "") details.insertBefore(make("p", { class: "where" }, where), details.lastChild);
      if (citation.url?.match(/^https?:\/\//)) {
        details.append(make("a", { href: citation.url, rel: "noopener noreferrer", target: "_blank" }, citation.url));
      }
      return details;
    }
  };
  function kindOf(error, texts) {
    if (!(error instanceof CairnError)) return texts.unreachable;
    const { status } = error;
    if (status === 401 || status === 403) return texts.refused;
    if (status === 404) return texts.missing;
    if (status === 429 || status === 503) return texts.busy;
    return status < 500 ? texts.invalid : texts.broken;
  }
  function place(host, script2) {
    const { target } = script2.dataset;
    if (target === void 0) {
      script2.after(host);
      return;
    }
    const found = document.querySelector(target);
    if (found === null) throw new Error(`Cairn's widget: nothing in this page is ${target} (data-target); does the script stand behind it?`);
    found.append(host);
  }
  function quoted({ quote, context }) {
    const at = context?.text.indexOf(quote) ?? -1;
    if (!context || at < 0) return [make("mark", {}, quote)];
    return [context.text.slice(0, at), make("mark", {}, quote), context.text.slice(at + quote.length)];
  }
  function blocks(text, link) {
    const inline = (line) => line.split(PIECES).map((piece, at) => at % 2 ? styled(piece, link) : piece);
    const found = [];
    let last;
    let isCode = false;
    for (const line of text.split("\n")) {
      const item = /^\s{0,8}[-*] /.exec(line);
      if (line.trimStart().startsWith("```")) {
        isCode = !isCode;
        if (isCode) found.push(make("pre"));
        last = void 0;
      } else if (isCode) found.at(-1)?.append(`${line}
`);
      else if (item !== null) {
        if (last?.tagName !== "UL") found.push(last = make("ul"));
        last.append(make("li", {}, ...inline(line.slice(item[0].length))));
      } else if (line.trim() === "") last = void 0;
      else if (last?.tagName === "P") last.append("\n", ...inline(line));
      else found.push(last = make("p", {}, ...inline(line)));
    }
    return found;
  }
  function styled(piece, link) {
    if (piece.startsWith("[")) return link(Number(piece.slice(1, -1)));
    return piece.startsWith("`") ? make("code", {}, piece.slice(1, -1)) : make("strong", {}, piece.slice(2, -2));
  }
  var script = document.currentScript;
  if (script instanceof HTMLScriptElement) new Widget(script);
})();
