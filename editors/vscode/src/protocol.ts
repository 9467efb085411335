/**
 * The wire contract: the names and shapes that client and server both know.
 *
 * Generated from server/redraft/lsp/contract.py by `make protocol`: change it there. Knows nothing
 * of VS Code.
 */

/** A place in a text of the Language Server Protocol; columns in UTF-16 units. */
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

/** Rewrite a part of a document. Takes `EditParams`, answers `EditAnswer`. */
export const EDIT = "redraft.edit";

/**
 * Say what an edit at a place would change, before there is an instruction. Takes `TargetParams`,
 * answers `FoundTargets`.
 */
export const FIND_TARGET = "redraft.findTarget";

/** Cancel edits. Takes `CancelParams`, answers `Cancelled`. */
export const CANCEL = "redraft.cancel";

/**
 * Load the model and prefill a document in the background. Takes `WarmParams`, answers `Status` at
 * once.
 */
export const WARM = "redraft.warm";

/** Report the state of the server. Answers `Status`. */
export const STATUS = "redraft.status";

/** Free the model and read the settings again; the next edit loads the model. Answers `Status`. */
export const RELOAD = "redraft.reload";

/** Report how the last edits ended and how the last reply was decoded. Answers `Trace`. */
export const SHOW_TRACE = "redraft.showTrace";

/**
 * A command of the client: ask the user for an instruction, then call `redraft.edit` with it. Takes
 * `PromptParams`. Offered only to clients that name it in `clientCommands`.
 */
export const PROMPT = "redraft.prompt";

/** To the server: as `redraft.cancel`. Carries `CancelParams`. */
export const CANCEL_NOTIFICATION = "redraft/cancel";

/**
 * To the client, for edits with `partial`: what the model has written so far. Carries `Partial`.
 */
export const PARTIAL_NOTIFICATION = "redraft/partial";

/**
 * To the client, where it set `statusNotifications`: after `initialized`, then whenever the model's
 * state changes or an edit begins or ends. Carries `Status`.
 */
export const STATUS_NOTIFICATION = "redraft/status";

/** The code action kind; an action's own kind is this, a dot and the action's name. */
export const KIND = "refactor.rewrite.redraft";

/** The section of `workspace/configuration`. */
export const SECTION = "redraft";

export const ErrorCode = {
  /** Cancelled: by the client, for another edit of the same code, or because it was closed. */
  CANCELLED: -32800,
  /**
   * Stale: `version` is not the document's, or the target was changed while the edit was computed;
   * `data.reason` is `stale`.
   */
  STALE: -32801,
  /**
   * Could not be done; the message says why and what to do. Where the model was asked, `data` is a
   * `Refusal`.
   */
  FAILED: -32803,
} as const;

export type Phase = "waiting" | "prefill" | "decode";

export type Ending = "applied" | "preview" | "unchanged" | "failed" | "cancelled";

export type ModelState = "unloaded" | "loading" | "loaded";

/** Why the model was asked and yet there is no edit: `reason` of a `Refusal`. */
export type Reason =
  "token_limit" | "elision" | "parse_broken" | "deletion" | "no_code" | "context" | "timeout";

/** The answer of `redraft.edit` when it has ended. */
export type EditResult = EditDone | EditPreview;

/** The answer of `redraft.edit`. */
export type EditAnswer = EditResult | EditStarted;

export type Scope = "function" | "selection" | "file";

/** The client's settings and abilities, sent with `initialize`. */
export interface InitializationOptions {
  /** Settings of clients that cannot be asked; the same keys as the section `redraft`. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Commands the client has; `redraft.prompt` is the one the server knows. */
  readonly clientCommands?: readonly string[];
  /** `false`: settings and actions in files of the project are ignored. */
  readonly trusted?: boolean;
  /** `true`: send `redraft/status`. */
  readonly statusNotifications?: boolean;
}

/** The argument of `redraft.findTarget`: the place of an edit. */
export interface TargetParams {
  /** An open document. */
  readonly uri: string;
  /** The version the positions are of; another than the current one is stale. */
  readonly version?: number | null;
  /** The selection. */
  readonly range?: Range | null;
  /** The cursor, where there is no `range`. */
  readonly position?: Position | null;
  /**
   * What may change: the function around the range's start (the range's lines, where it is in
   * none), exactly the range, or everything. Default: a selection if there is one, else the
   * function; at a cursor on an empty line outside of functions, an insertion there.
   */
  readonly scope?: Scope | null;
}

/** The place of an edit and the form of its answer, whatever the instruction is. */
export interface EditOptions extends TargetParams {
  /** Where the model leaves the code as it is, take its second choice. */
  readonly anotherVersion?: boolean | null;
  /** Return the edit instead of applying it. */
  readonly preview?: boolean | null;
  /** Send `redraft/partial` while the model writes. */
  readonly partial?: boolean | null;
  /**
   * Default true: answer when the edit has ended. `false`: answer at once with `EditStarted` and
   * show a message when it has ended; code actions do this.
   */
  readonly wait?: boolean | null;
  /** A name for `redraft/cancel`. */
  readonly id?: string | null;
  /** The name in the undo list and beside the progress. */
  readonly title?: string | null;
}

/** The argument of `redraft.edit`. */
export interface EditParams extends EditOptions {
  /** What to change. */
  readonly instruction: string;
}

/** Code that can be edited; `range` and `scope` are those to request the edit with. */
export interface EditTarget {
  /** For the user, such as `function Cart.total`, `lines 3-7` or `the whole file`. */
  readonly name: string;
  readonly range: Range;
  readonly scope: Scope | null;
}

/** The answer of `redraft.findTarget`. */
export interface FoundTargets {
  /** Why there is nothing to edit at the place. */
  readonly problem: string | null;
  /**
   * What an edit there would change: one target. Where there is a problem, what the user can choose
   * from instead.
   */
  readonly targets: readonly EditTarget[];
}

/** The argument of `redraft.prompt`. */
export interface PromptParams extends EditOptions {
  /** What to ask the user. */
  readonly question: string;
}

/** The edits that fit all that is given; without either key, all edits. */
export interface CancelParams {
  /** The edit of this name. */
  readonly id?: string | null;
  /** The edit of this document. */
  readonly uri?: string | null;
}

/** The answer of `redraft.cancel`. */
export interface Cancelled {
  /** How many edits. */
  readonly cancelled: number;
}

/** The argument of `redraft.warm`. */
export interface WarmParams {
  /** An open document; without, the model is loaded and nothing prefilled. */
  readonly uri?: string | null;
}

/** The cost of an edit; times in seconds. */
export interface EditStats {
  readonly promptTokens: number;
  /** Prompt tokens that were prefilled already. */
  readonly reusedTokens: number;
  readonly outputTokens: number;
  /** Runs of the model over a batch of tokens while decoding. */
  readonly passes: number;
  /** Tokens guessed ahead. */
  readonly drafted: number;
  /** Guessed tokens that the model confirmed. */
  readonly accepted: number;
  readonly tokensPerPass: number;
  readonly tokensPerSecond: number;
  readonly prefillSeconds: number;
  readonly decodeSeconds: number;
  /** Spent on measuring what passes cost on this machine, for this edit and later ones. */
  readonly calibrationSeconds: number;
  /** The part of decodeSeconds in which a draft model read the text and guessed. */
  readonly draftSeconds: number;
}

/** The answer of `redraft.edit` with `wait` false. */
export interface EditStarted {
  /** The edit's name. */
  readonly id: string;
  /** Its document. */
  readonly uri: string;
  readonly outcome: "started";
}

/** A line that still uses a definition as it was before the edit. */
export interface OutdatedUse {
  /** The line, without the white space around it, in the document after the edit. */
  readonly range: Range;
  readonly text: string;
  /** The name the definition had. */
  readonly definition: string;
}

/** The part of the answer that every edit that has ended has. */
export interface EndedEdit {
  /** The edit's name. */
  readonly id: string;
  /** Its document. */
  readonly uri: string;
  /** Sentences for the user, such as what was left out of the prompt. */
  readonly notes: readonly string[];
  /**
   * Lines of the document that do not fit a definition that the edit renamed, or gave other
   * parameters.
   */
  readonly callers: readonly OutdatedUse[];
  readonly stats: EditStats;
}

/** The answer of an edit that was applied or changed nothing. */
export interface EditDone extends EndedEdit {
  readonly outcome: "applied" | "unchanged";
}

/** The answer of an edit with `preview`. */
export interface EditPreview extends EndedEdit {
  readonly outcome: "preview";
  /** The edit, in the richest form the client takes. */
  readonly edit: unknown;
  /** The same as plain text edits, in the order of the document. */
  readonly edits: readonly TextEdit[];
  /** What was to be edited. Edits outside of it add what it needs, such as imports. */
  readonly target: Range;
  /** The version of the document they are for. */
  readonly version: number;
}

/** `data` of the error for an edit that the model's reply did not lead to. */
export interface Refusal {
  readonly reason: Reason;
  readonly stats: EditStats;
  /** The lines that the edit would leave out, where that is the reason. */
  readonly lost: readonly string[];
  /**
   * The edit all the same, for a user who wants to look at it and apply it anyway; null where the
   * reply makes none, or the code was changed meanwhile.
   */
  readonly withheld: EditPreview | null;
}

/** The progress of an edit. */
export interface EditProgress {
  /** The edit's name. */
  readonly id: string;
  /** Its document. */
  readonly uri: string;
  readonly phase: Phase;
  /** Tokens read or written in this phase. */
  readonly done: number;
  /** Tokens in all; an estimate while decoding. */
  readonly expected: number;
  /** Speed of decoding; 0 before. */
  readonly tokensPerSecond: number;
}

/** The parameters of `redraft/partial`. */
export interface Partial extends EditProgress {
  /** What the model has written so far: raw, before the checks. */
  readonly text: string;
}

/** The model that is set, and whether it is in memory. */
export interface ModelStatus {
  readonly name: string;
  readonly state: ModelState;
}

/** The state of the server. */
export interface Status {
  /** The version of redraft. */
  readonly version: string;
  readonly model: ModelStatus;
  /** The edits that run or wait. */
  readonly edits: readonly EditProgress[];
  /** How many requests wait for the model. */
  readonly waiting: number;
  /** How many documents are open. */
  readonly documents: number;
  /** The URIs of prefilled documents, with the version that was prefilled. */
  readonly warm: Readonly<Record<string, number>>;
}

/** An edit that has ended. */
export interface TracedEdit extends EditProgress {
  readonly outcome: Ending;
  /** Why there is no edit. */
  readonly reason: Reason | "stale" | null;
  /** From the request to the end. */
  readonly seconds: number;
  readonly stats: EditStats | null;
}

/** A stretch of a reply, all from one origin. */
export interface TraceText {
  /** Which guess it confirmed; null: decoded without one. */
  readonly origin: string | null;
  readonly text: string;
}

/** One pass of the model. */
export interface TracePass {
  /** Tokens guessed ahead. */
  readonly drafted: number;
  readonly seconds: number;
  readonly text: readonly TraceText[];
}

/** The answer of `redraft.showTrace`. */
export interface Trace {
  /** The last edits, the newest last. */
  readonly edits: readonly TracedEdit[];
  /** The passes of the last reply. */
  readonly passes: readonly TracePass[];
}
