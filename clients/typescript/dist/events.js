import { CairnError, UnreachableError } from "./errors.js";
/** The events of a stream of `/query`. Throws the CairnError that ended the run, and UnreachableError where the stream broke off. */
export async function* readEvents(body) {
    for await (const [name, data] of readFrames(body)) {
        if (name === "error")
            throw new CairnError(data);
        yield name === "answer" ? { event: name, answer: data } : { event: name, ...data };
        if (name === "answer" || name === "cancelled")
            return;
    }
    throw new UnreachableError("the connection ended before the answer");
}
/** Names and data of server-sent events. Lines end with a line feed alone: other separators may stand in texts. */
async function* readFrames(body) {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    let rest = "";
    let name = "";
    let data = [];
    try {
        for (;;) {
            const { done, value } = await reader.read();
            if (done)
                return;
            const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
            rest = lines.pop() ?? "";
            for (const line of lines.map((one) => one.replace(/\r$/, ""))) {
                if (line.startsWith("event:"))
                    name = line.slice(6).trimStart();
                else if (line.startsWith("data:"))
                    data.push(line.slice(5).trimStart());
                else if (line === "" && data.length > 0) {
                    yield [name, JSON.parse(data.join("\n"))];
                    name = "";
                    data = [];
                }
            }
        }
    }
    finally {
        await reader.cancel().catch(() => undefined); // who stops reading ends the run
    }
}
