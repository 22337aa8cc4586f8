export { Cairn } from "./client.js";
export type { AskOptions, ClientOptions, Part, SearchOptions, UploadFile } from "./client.js";
export { CairnError, UnreachableError } from "./errors.js";
export type { AskEvent } from "./events.js";
export type * from "./schemas.js";
