/**
 * The messages to the user, and the buttons that come with them.
 *
 * The server's own sentences say what happened and what to do; they are passed on unchanged. Knows
 * no window: notify.ts shows notices, and decides what their buttons do.
 */

import {
  type EditPreview,
  type EditStats,
  ErrorCode,
  type OutdatedUse,
  type Reason,
  type Refusal,
} from "../protocol";
import { formatSpeed } from "./format";
import { MAX_RESTARTS, WINDOW_MINUTES } from "./restarts";

/** The buttons of a notice; `settings` opens the notice's `setting`. */
export type Button =
  | "rerun"
  | "retry"
  | "version"
  | "anyway"
  | "callers"
  | "keep"
  | "show"
  | "log"
  | "settings"
  | "restart"
  | "install"
  | "interpreter";

export const BUTTON_TITLES: Readonly<Record<Button, string>> = {
  rerun: "Run Again",
  retry: "Retry...",
  version: "Another Version",
  anyway: "Apply Anyway...",
  callers: "Show Lines",
  keep: "Keep Preview",
  show: "Show Change",
  log: "Show Log",
  settings: "Open Settings",
  restart: "Restart Server",
  install: "How to Install",
  interpreter: "Select Interpreter",
};

/** A message; one of the level `status` is shown in the status bar for some seconds. */
export interface Notice {
  readonly level: "status" | "info" | "warning" | "error";
  readonly text: string;
  readonly buttons: readonly Button[];
  readonly setting?: string;
}

/** An error of the server, or of the client library where no answer came. */
export interface Failure {
  readonly code?: number;
  readonly message: string;
  readonly reason?: string;
  readonly withheld?: EditPreview; // the edit that was refused
}

// vscode-languageclient's own codes for requests whose server ended, or did not run.
const CONNECTION_LOST: readonly number[] = [-32099, -32098, -32097, -32096];

/** Return what is known of an error, whoever threw it. */
export function readFailure(error: unknown): Failure {
  const { code, data } = (error ?? {}) as { code?: unknown; data?: unknown };
  const { reason, withheld } = (data ?? {}) as Partial<Refusal>;
  return {
    message: error instanceof Error ? error.message : String(error),
    ...(typeof code === "number" ? { code } : {}),
    ...(typeof reason === "string" ? { reason } : {}),
    ...(withheld ? { withheld } : {}),
  };
}

/** Return the notice for an edit that failed. */
export function createFailureNotice(failure: Failure): Notice {
  const { code = 0, message, reason } = failure;
  if (code === ErrorCode.CANCELLED) {
    // The server gives a reason where it was not the user who cancelled.
    return createStatusNotice(message === "cancelled" ? message : `cancelled: ${message}`);
  }
  if (code === ErrorCode.STALE) {
    return createNotice("warning", message, ["rerun"]);
  }
  if (code === ErrorCode.FAILED) {
    return reason === undefined
      ? createNotice("error", message, ["log", "settings"], "redraft.model")
      : createRefusalNotice(message, reason, failure.withheld);
  }
  return CONNECTION_LOST.includes(code)
    ? createNotice("error", "the server stopped; nothing was changed.", ["rerun", "log"])
    : createNotice("error", message, ["log"]);
}

/** The setting that lifts the limit which a refusal names. */
const SETTINGS: Readonly<Partial<Record<string, string>>> = {
  token_limit: "redraft.maxTokens",
  timeout: "redraft.timeout",
  context: "redraft.nCtx",
} satisfies Partial<Record<Reason, string>>;

function createRefusalNotice(message: string, reason: string, withheld?: EditPreview): Notice {
  const setting = SETTINGS[reason];
  // No other instruction makes code fit into a context that is too small.
  const buttons: Button[] = reason === "context" ? [] : ["retry"];
  if (withheld) {
    buttons.push("anyway");
  }
  return createNotice("warning", message, setting ? [...buttons, "settings"] : buttons, setting);
}

/** Return the notice for the same code from the model, also when `asked` for another version. */
export function createUnchangedNotice(asked: boolean): Notice {
  return asked
    ? createNotice("info", "no changes. The model has no other version.", ["retry"])
    : createNotice("info", "no changes. The model answered with the same code.", [
        "version",
        "retry",
      ]);
}

/** Return the notice for lines of the file `name` that do not fit what was edited. */
export function createCallersNotice(name: string, callers: readonly OutdatedUse[]): Notice {
  const lines = callers.length === 1 ? "1 line" : `${callers.length} lines`;
  const verb = callers.length === 1 ? "uses" : "use";
  const definitions = [...new Set(callers.map(({ definition }) => definition))].join(", ");
  return createNotice("warning", `${lines} of ${name} still ${verb} the old ${definitions}.`, [
    "callers",
  ]);
}

export const APPLIED = createStatusNotice("applied");
export const REJECTED = createStatusNotice("rejected, nothing was changed");

/** Return the notice for a preview of the file `name` that can no longer be accepted. */
export function createOutdatedNotice(name: string): Notice {
  return createNotice("warning", `${name} was changed since the preview; nothing was applied.`, [
    "rerun",
    "keep",
  ]);
}

/** Return the notice for an edit of the file `name` that waits until the user wants to see it. */
export function createReadyNotice(name: string): Notice {
  return createNotice("info", `the change of ${name} is ready.`, ["show"]);
}

/** Return the notice for a preview that could not be shown. */
export function createNotShownNotice(message: string): Notice {
  return createNotice("error", `the change is kept, but cannot be shown: ${message}`, ["show"]);
}

/** Return the notice for an edit of the file `name` that VS Code did not apply. */
export function createNotAppliedNotice(name: string): Notice {
  return createNotice("error", `VS Code did not apply the change. Is ${name} read-only?`, []);
}

/** Return the notice for a document that the server is not told of. */
export function createUnsupportedNotice(scheme: string): Notice {
  return createNotice(
    "info",
    `only files on disk and untitled documents can be edited, not "${scheme}:" documents.`,
    [],
  );
}

export const NO_EDITOR = createNotice("info", "open a file first.", []);
export const NO_PREVIEW = createNotice("info", "there is no change to accept or reject.", []);
export const NO_PROBLEM = createNotice("info", "there is no problem at the cursor.", []);
export const NO_FIX = createNotice(
  "info",
  'the action "fix" is switched off.',
  ["settings"],
  "redraft.actions",
);
export const OUTDATED_ACTION = createNotice(
  "info",
  "the code changed since; choose the action again.",
  [],
);
export const PLACE_IS_GONE = createNotice(
  "info",
  "that place is gone; put the cursor there and ask anew.",
  [],
);
export const MODEL_IS_HERE = createNotice("info", "the model is here.", []);
export const NOTHING_SELECTED = createNotice("info", "select some code first.", []);

/** The server crashed too often. */
export const GAVE_UP = createNotice(
  "error",
  `the server stopped ${MAX_RESTARTS + 1} times in ${WINDOW_MINUTES} minutes and is not started again.`,
  ["log", "restart"],
);

/** Return the notice for a server that was found and did not start. */
export function createNotStartedNotice(command: string, message: string): Notice {
  return createNotice("error", `the server did not start (${command}): ${message}`, [
    "log",
    "restart",
  ]);
}

/** Return the tokens and seconds of an edit, for the status bar. */
export function createCostNotice(stats: EditStats): Notice {
  const seconds = (stats.prefillSeconds + stats.decodeSeconds).toFixed(1);
  const speed = stats.tokensPerSecond > 0 ? `, ${formatSpeed(stats.tokensPerSecond)}` : "";
  return createStatusNotice(`${stats.outputTokens} tokens in ${seconds} s${speed}`);
}

/** Return a notice whose text begins with the extension's name. */
export function createNotice(
  level: Notice["level"],
  text: string,
  buttons: readonly Button[],
  setting?: string,
): Notice {
  return { level, text: `redraft: ${text}`, buttons, ...(setting ? { setting } : {}) };
}

function createStatusNotice(text: string): Notice {
  return createNotice("status", text, []);
}
