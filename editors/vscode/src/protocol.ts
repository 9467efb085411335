/**
 * The wire contract: what server/redraft/lsp/contract.py and docs/protocol.md say, in types.
 *
 * Knows nothing of VS Code. Positions are those of the Language Server Protocol, in UTF-16 units.
 */

// Commands of the server, for workspace/executeCommand. Each takes one object, or nothing.
export const EDIT = "redraft.edit";
export const CANCEL = "redraft.cancel";
export const WARM = "redraft.warm";
export const STATUS = "redraft.status";
export const RELOAD = "redraft.reload";
export const SHOW_TRACE = "redraft.showTrace";

// A command of the client: ask for an instruction, then call redraft.edit with it.
export const PROMPT = "redraft.prompt";

export const CANCEL_NOTIFICATION = "redraft/cancel"; // to the server
export const PARTIAL_NOTIFICATION = "redraft/partial"; // to the client, where `partial` was asked for
export const STATUS_NOTIFICATION = "redraft/status"; // to the client, where it asked for these

export const KIND = "refactor.rewrite.redraft"; // every action's kind is this and its name
export const SECTION = "redraft"; // of workspace/configuration

export type Scope = "function" | "selection" | "file";

export interface Position {
  readonly line: number;
  readonly character: number;
}

export interface Range {
  readonly start: Position;
  readonly end: Position;
}

export interface TextEdit {
  readonly range: Range;
  readonly newText: string;
}

/** `initializationOptions`. */
export interface InitializationOptions {
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly clientCommands: readonly string[];
  readonly trusted: boolean;
  readonly statusNotifications: boolean;
}

/** The argument of `redraft.edit`. */
export interface EditParams {
  readonly uri: string;
  readonly instruction: string;
  readonly version?: number | null;
  readonly range?: Range | null;
  readonly position?: Position | null;
  readonly scope?: Scope | null;
  readonly preview?: boolean | null;
  readonly partial?: boolean | null;
  readonly wait?: boolean | null;
  readonly id?: string | null;
  readonly title?: string | null;
}

/** The argument of `redraft.prompt`. */
export interface PromptParams extends Omit<EditParams, "instruction"> {
  readonly question: string;
}

/** Times in seconds. */
export interface EditStats {
  readonly promptTokens: number;
  readonly reusedTokens: number;
  readonly outputTokens: number;
  readonly passes: number;
  readonly drafted: number;
  readonly accepted: number;
  readonly prefillSeconds: number;
  readonly decodeSeconds: number;
  readonly tokensPerPass: number;
  readonly tokensPerSecond: number;
}

interface Ended {
  readonly id: string;
  readonly uri: string;
  readonly notes: readonly string[];
  readonly stats: EditStats;
}

/** The answer to `redraft.edit` with `wait`. */
export type EditAnswer =
  | (Ended & { readonly outcome: "applied" | "unchanged" })
  | (Ended & {
      readonly outcome: "preview";
      readonly edit: unknown; // a WorkspaceEdit with the same edits
      readonly edits: readonly TextEdit[];
      readonly version: number;
    });

// Codes of errors, beside JSON-RPC's own.
export const REQUEST_CANCELLED = -32800;
export const CONTENT_MODIFIED = -32801;
export const REQUEST_FAILED = -32803;

/** `data.reason` of an edit that could not be done although the model was asked. */
export type Reason =
  "token_limit" | "elision" | "parse_broken" | "deletion" | "no_code" | "context" | "timeout";

/** The parameters of `redraft/cancel` and `redraft.cancel`; without either, all edits. */
export interface CancelParams {
  readonly id?: string;
  readonly uri?: string;
}

/** How far an edit is; `done` and `expected` in tokens, `expected` an estimate while decoding. */
export interface EditProgress {
  readonly id: string;
  readonly uri: string;
  readonly phase: "waiting" | "prefill" | "decode";
  readonly done: number;
  readonly expected: number;
  readonly tokensPerSecond: number;
}

/** The parameters of `redraft/partial`: `text` is raw, before the checks. */
export interface Partial extends EditProgress {
  readonly text: string;
}

/** The answer to `redraft.status`, `redraft.warm` and `redraft.reload`; also `redraft/status`. */
export interface Status {
  readonly version: string;
  readonly model: { readonly name: string; readonly state: "unloaded" | "loading" | "loaded" };
  readonly edits: readonly EditProgress[];
  readonly waiting: number;
  readonly documents: number;
  readonly warm: Readonly<Record<string, number>>;
}

/** One decode pass; `origin` null was decoded afresh, anything else was guessed from there. */
export interface Pass {
  readonly drafted: number;
  readonly seconds: number;
  readonly text: readonly { readonly origin: string | null; readonly text: string }[];
}

/** The answer to `redraft.showTrace`: the last edits, and the passes of the last answer. */
export interface Trace {
  readonly edits: readonly (EditProgress & {
    readonly outcome: string;
    readonly reason: string | null;
    readonly seconds: number;
    readonly stats: EditStats | null;
  })[];
  readonly passes: readonly Pass[];
}
