import type { Problem } from "./schemas.js";
/** What the server refused or could not do: `code` is for programs, `message` (the problem's `detail`) for people. */
export declare class CairnError extends Error {
    readonly name: string;
    readonly status: number;
    readonly code: string;
    /** All that the server said, such as `errors` with the fields that are wrong. */
    readonly problem: Problem;
    /** Seconds after which to try again, where the server knows. */
    readonly retryAfter: number | undefined;
    constructor(problem: Problem, retryAfter?: number);
    /** Names the request in the server's log. */
    get requestId(): string;
}
/** The server did not answer, or the connection broke before the answer was complete. */
export declare class UnreachableError extends Error {
    readonly name: string;
}
/** The error that a response stands for, also one of a proxy that says no problem. Throws what `fetch` does where its body breaks off. */
export declare function errorOf(response: Response): Promise<CairnError>;
