/** What the server refused or could not do: `code` is for programs, `message` (the problem's `detail`) for people. */
export class CairnError extends Error {
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
        const told = problem["retry_after"]; // all that the error of a stream has: it comes without headers
        this.retryAfter = retryAfter ?? (typeof told === "number" ? told : undefined);
    }
    /** Names the request in the server's log. */
    get requestId() {
        return this.problem.request_id;
    }
}
/** The server did not answer, or the connection broke before the answer was complete. */
export class UnreachableError extends Error {
    name = "UnreachableError";
}
/** The error that a response stands for, also one of a proxy that says no problem. Throws what `fetch` does where its body breaks off. */
export async function errorOf(response) {
    const text = await response.text();
    const after = Number.parseFloat(response.headers.get("Retry-After") ?? "");
    return new CairnError(readProblem(text) ?? unknownProblem(response, text), Number.isNaN(after) ? undefined : after);
}
function readProblem(text) {
    try {
        const found = JSON.parse(text);
        return typeof found === "object" && found !== null && "code" in found && "detail" in found ? found : undefined;
    }
    catch {
        return undefined;
    }
}
function unknownProblem(response, text) {
    const detail = `HTTP ${response.status}: ${text.slice(0, 200).trim() || "no reason given"}`;
    const requestId = response.headers.get("X-Request-ID") ?? "";
    return {
        type: "about:blank", title: response.statusText, status: response.status, detail, instance: "", code: "unknown",
        request_id: requestId,
    };
}
