// What the TypeScript client does with a real server: prints it as JSON for test_typescript_client.py.
import { Cairn, CairnError, UnreachableError } from "../../../clients/typescript/dist/index.js";

const [url, key, weak] = process.argv.slice(2);
const cairn = new Cairn({ url: `${url}/`, key });
const told = {};

const done = await cairn.upload(
  [{ name: "leave.md", content: "# Leave\n\nEmployees have 30 days of leave per year.\n" }, new File(["%PDF-1.7 torn off"], "bad.pdf")],
  { collection: "handbook", metadata: { team: "people" } },
);
told.uploaded = done.uploaded.map((one) => [one.external_id, one.change]);
told.failed = done.failed.map((one) => one.external_id);
const indexed = await cairn.index([{ external_id: "pay", text: "Salaries are paid on the 25th of each month." }], { collection: "handbook" });
told.indexed = indexed.indexed.map((one) => one.external_id);

const listed = [];
for await (const document of cairn.documents("handbook")) listed.push(document);
told.documents = listed.map((one) => [one.external_id, one.status]);
told.metadata = listed.find((one) => one.external_id === "leave.md").metadata;
for await (const collection of cairn.collections()) (told.collections ??= []).push(collection.name);

const question = "How many days of leave do employees have?";
const answer = await cairn.ask(question, { collection: "handbook" });
told.answer = answer.answer;
told.quote = answer.citations[0].quote;
told.parts = ["sources", "route", "grounding", "timings_ms"].filter((name) => name in answer);
const whole = await cairn.ask(question, { collection: "handbook", include: ["sources", "route"], filters: { team: "people" } });
told.included = ["sources", "route", "grounding", "timings_ms"].filter((name) => name in whole);
told.found = (await cairn.search("days of leave", { collection: "handbook", top_k: 1 })).results.map((one) => one.external_id);

told.events = [];
told.streamed = "";
for await (const event of cairn.stream(question, { collection: "handbook", include: "all" })) {
  if (told.events.at(-1) !== event.event) told.events.push(event.event);
  if (event.event === "token") told.streamed += event.text;
  if (event.event === "sources") told.sources = event.sources.map((one) => one.external_id);
  if (event.event === "answer") told.ended = event.answer.answer;
}

async function failing(work) {
  try {
    await work();
    return null;
  } catch (error) {
    const known = error instanceof CairnError ? "CairnError" : error instanceof UnreachableError ? "UnreachableError" : error.name;
    return [known, error.status, error.code, error.message, Boolean(error.requestId)];
  }
}

async function read(events) {
  for await (const _ of events);
}

const stopped = new AbortController();
stopped.abort();
told.errors = {
  missing: await failing(() => cairn.search("x", { collection: "nowhere" })),
  invalid: await failing(() => cairn.ask("", { collection: "handbook" })),
  keyless: await failing(() => new Cairn({ url }).ask(question)),
  weak: await failing(() => new Cairn({ url, key: weak }).ask(question, { collection: "handbook" })),
  stream: await failing(() => read(cairn.stream(question, { collection: "nowhere" }))),
  aborted: await failing(() => cairn.ask(question, { collection: "handbook", signal: stopped.signal })),
  nobody: await failing(() => new Cairn({ url: "http://127.0.0.1:9" }).ask(question)),
};

// who stops reading ends the run
let run = "";
for await (const event of cairn.stream(question, { collection: "handbook" })) {
  if (event.event === "run") run = event.run_id;
  break;
}
told.left = run;
// and who aborts in the middle sees an AbortError
const controller = new AbortController();
told.errors.abortedInTheMiddle = await failing(async () => {
  for await (const _ of cairn.stream(question, { collection: "handbook", signal: controller.signal })) controller.abort();
});

await cairn.delete("handbook", listed.find((one) => one.external_id === "pay").id);
told.left_documents = [];
for await (const document of cairn.documents("handbook")) told.left_documents.push(document.external_id);
console.log(JSON.stringify(told));
