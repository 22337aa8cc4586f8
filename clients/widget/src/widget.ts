import { Cairn } from "../../typescript/src/client.js";
import { CairnError } from "../../typescript/src/errors.js";
import type { AnswerOut, CitationOut } from "../../typescript/src/schemas.js";
import { STYLE } from "./style.js";
import { type Texts, textsOf } from "./texts.js";

/** Longest question, as `api.maxQueryChars` has it by default; the server says so where it has less. */
const LONGEST = 4000;
const PIECES = /(\[\d{1,4}\]|\*\*[^*\n]+\*\*|`[^`\n]+`)/;

type Attributes = Record<string, string>;

function make<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** One widget, beside the script that loaded it or in what `data-target` names. */
class Widget {
  readonly #cairn: Cairn;
  readonly #collection: string | undefined;
  readonly #texts: Texts;
  readonly #isEnglish: boolean; // as is what the server says of its progress
  readonly #input: HTMLInputElement;
  readonly #stop: HTMLButtonElement;
  readonly #status = make("p", { class: "status", role: "status" });
  // busy while it is written: a screen reader says the whole, once
  readonly #answer = make("div", { class: "answer", "aria-live": "polite", "aria-busy": "false" });
  readonly #sources = make("ol");
  readonly #below: HTMLElement;
  #asking: AbortController | undefined;

  constructor(script: HTMLScriptElement) {
    const { collection, key, lang, theme, title } = script.dataset;
    const [code, texts] = textsOf([lang ?? "", document.documentElement.lang, ...navigator.languages]);
    this.#texts = texts;
    this.#isEnglish = code === "en";
    this.#collection = collection;
    const url = new URL(".", script.src).href;
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

    const host = make("div", { class: "cairn-widget", ...(theme === undefined ? {} : { "data-theme": theme }) });
    const shadow = host.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet(); // no element: a page's Content-Security-Policy may forbid styles that stand in it
    sheet.replaceSync(STYLE);
    shadow.adoptedStyleSheets = [sheet];
    shadow.append(section);
    place(host, script);
  }

  async #ask(question: string): Promise<void> {
    if (question === "") return;
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    this.#show("", []);
    this.#tell(this.#texts.working);
    this.#answer.setAttribute("aria-busy", "true");
    this.#stop.hidden = false;
    try {
      const options = { signal: asking.signal, ...(this.#collection === undefined ? {} : { collection: this.#collection }) };
      let written = "";
      for await (const event of this.#cairn.stream(question, options)) {
        if (event.event === "progress" && this.#isEnglish && event.message !== undefined) this.#tell(event.message);
        if (event.event === "token") this.#show((written += event.text), []);
        if (event.event === "answer") this.#end(event.answer);
        if (event.event === "cancelled") this.#tell(this.#texts.stopped);
      }
    } catch (error) {
      if (this.#asking !== asking) return; // another question has taken its place
      if (asking.signal.aborted) this.#tell(this.#texts.stopped);
      else this.#tell(this.#explain(error), true);
    } finally {
      if (this.#asking === asking) {
        this.#asking = undefined;
        this.#stop.hidden = true;
        this.#answer.setAttribute("aria-busy", "false");
      }
    }
  }

  /** In the reader's language what kind of failure it is, and behind that what the server says, which is English. */
  #explain(error: unknown): string {
    const said = error instanceof Error ? error.message : String(error);
    return `${kindOf(error, this.#texts)} (${said})`;
  }

  #end(answer: AnswerOut): void {
    const verdicts = { yes: this.#texts.done, unsure: this.#texts.unsure, no: this.#texts.unknown };
    this.#show(answer.answer, answer.citations);
    this.#tell(verdicts[answer.answered]);
  }

  #tell(text: string, isBad = false): void {
    this.#status.textContent = text;
    this.#status.classList.toggle("bad", isBad);
  }

  #show(text: string, citations: readonly CitationOut[]): void {
    const opened = new Map(citations.map((one) => [one.n, this.#source(one)]));
    this.#answer.replaceChildren(...blocks(text, (n) => this.#link(n, opened.get(n))));
    this.#sources.replaceChildren(...[...opened.values()].map((details) => make("li", {}, details)));
    this.#below.hidden = opened.size === 0;
  }

  #link(n: number, details: HTMLDetailsElement | undefined): Node {
    if (details === undefined) return document.createTextNode(`[${n}]`);
    const button = make("button", { type: "button", "aria-label": `${this.#texts.source} ${n}` }, `[${n}]`);
    button.addEventListener("click", () => {
      details.open = true;
      details.querySelector("summary")?.focus();
    });
    return button;
  }

  #source(citation: CitationOut): HTMLDetailsElement {
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
}

function kindOf(error: unknown, texts: Texts): string {
  if (!(error instanceof CairnError)) return texts.unreachable;
  const { status } = error;
  if (status === 401 || status === 403) return texts.refused;
  if (status === 404) return texts.missing;
  if (status === 429 || status === 503) return texts.busy;
  return status < 500 ? texts.invalid : texts.broken;
}

function place(host: HTMLElement, script: HTMLScriptElement): void {
  const { target } = script.dataset;
  if (target === undefined) {
    script.after(host);
    return;
  }
  const found = document.querySelector(target);
  if (found === null) throw new Error(`Cairn's widget: nothing in this page is ${target} (data-target); does the script stand behind it?`);
  found.append(host);
}

/** What stands around the quotation, with it marked; the quotation alone where nothing does. */
function quoted({ quote, context }: CitationOut): (Node | string)[] {
  const at = context?.text.indexOf(quote) ?? -1;
  if (!context || at < 0) return [make("mark", {}, quote)];
  return [context.text.slice(0, at), make("mark", {}, quote), context.text.slice(at + quote.length)];
}

/** The Markdown that answers have: paragraphs, lists, code, bold, and citations, all of it text. */
function blocks(text: string, link: (n: number) => Node): Node[] {
  const inline = (line: string): (Node | string)[] => line.split(PIECES).map((piece, at) => (at % 2 ? styled(piece, link) : piece));
  const found: HTMLElement[] = [];
  let last: HTMLElement | undefined;
  let isCode = false;
  for (const line of text.split("\n")) {
    const item = /^\s{0,8}[-*] /.exec(line);
    if (line.trimStart().startsWith("```")) {
      isCode = !isCode;
      if (isCode) found.push(make("pre"));
      last = undefined;
    } else if (isCode) found.at(-1)?.append(`${line}\n`);
    else if (item !== null) {
      if (last?.tagName !== "UL") found.push((last = make("ul")));
      last.append(make("li", {}, ...inline(line.slice(item[0].length))));
    } else if (line.trim() === "") last = undefined;
    else if (last?.tagName === "P") last.append("\n", ...inline(line));
    else found.push((last = make("p", {}, ...inline(line))));
  }
  return found;
}

function styled(piece: string, link: (n: number) => Node): Node {
  if (piece.startsWith("[")) return link(Number(piece.slice(1, -1)));
  return piece.startsWith("`") ? make("code", {}, piece.slice(1, -1)) : make("strong", {}, piece.slice(2, -2));
}

const script = document.currentScript;
if (script instanceof HTMLScriptElement) new Widget(script);
