import { CairnError, UnreachableError } from "./errors.js";
import type { AnswerOut, Problem, SourceOut } from "./schemas.js";

/** What a run says on its way; `answer` or `cancelled` is the last one. A run that fails throws its CairnError instead. */
export type AskEvent =
  | { event: "run"; run_id: string; strategy: string }
  | { event: "progress"; step: string; percent: number; message?: string; numbers?: Record<string, unknown>; detail?: Record<string, unknown> }
  | { event: "sources"; sources: SourceOut[] }
  | { event: "token"; text: string }
  | { event: "answer"; answer: AnswerOut }
  | { event: "cancelled"; run_id: string };

/** The events of a stream of `/query`. Throws the CairnError that ended the run, and UnreachableError where the stream broke off. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<AskEvent> {
  for await (const [name, data] of readFrames(body)) {
    if (name === "error") throw new CairnError(data as Problem);
    yield name === "answer" ? { event: name, answer: data as AnswerOut } : ({ event: name, ...(data as object) } as AskEvent);
    if (name === "answer" || name === "cancelled") return;
  }
  throw new UnreachableError("the connection ended before the answer");
}

/** Names and data of server-sent events. Lines end with a line feed alone: other separators may stand in texts. */
async function* readFrames(body: ReadableStream<Uint8Array>): AsyncGenerator<[string, unknown]> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let name = "";
  let data: string[] = [];
  try {
    for (;;) {
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
    await reader.cancel().catch(() => undefined); // who stops reading ends the run
  }
}
