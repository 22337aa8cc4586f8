import type { AnswerOut, SourceOut } from "./schemas.js";
/** What a run says on its way; `answer` or `cancelled` is the last one. A run that fails throws its CairnError instead. */
export type AskEvent = {
    event: "run";
    run_id: string;
    strategy: string;
} | {
    event: "progress";
    step: string;
    percent: number;
    message?: string;
    numbers?: Record<string, unknown>;
    detail?: Record<string, unknown>;
} | {
    event: "sources";
    sources: SourceOut[];
} | {
    event: "token";
    text: string;
} | {
    event: "answer";
    answer: AnswerOut;
} | {
    event: "cancelled";
    run_id: string;
};
/** The events of a stream of `/query`. Throws the CairnError that ended the run, and UnreachableError where the stream broke off. */
export declare function readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<AskEvent>;
