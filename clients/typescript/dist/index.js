export { Cairn } from "./client.js";
export { CairnError, UnreachableError } from "./errors.js";
