// Reads a stream whose pieces come cut anywhere, and ones that break: prints what the client makes of each address.
import { Cairn } from "../../../clients/typescript/dist/index.js";

const told = [];
for (const url of process.argv.slice(2)) {
  const seen = [];
  try {
    for await (const event of new Cairn({ url }).stream("x")) seen.push(event.event === "token" ? event.text : event.event);
  } catch (error) {
    const after = error.retryAfter === undefined ? "" : `, again in ${error.retryAfter} s`;
    seen.push(`${error.name}: ${error.code ?? error.message}${after}`);
  }
  told.push(seen);
}
console.log(JSON.stringify(told));
