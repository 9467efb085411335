/**
 * What the user is told at the end of an edit, and which ways on are offered.
 *
 * The server's own sentences say what happened and what to do; they are passed on whole.
 */

import { type EditStats, ErrorCode, type Reason } from "../protocol";
import { rate } from "./progress";
import { LIMIT, WINDOW_MINUTES } from "./restarts";

/** What a button does; `settings` goes to the notice's `setting`. */
export type Button =
  "again" | "retry" | "keep" | "log" | "settings" | "restart" | "install" | "interpreter";

export const TITLES: Readonly<Record<Button, string>> = {
  again: "Run Again",
  retry: "Retry...",
  keep: "Keep Preview",
  log: "Show Log",
  settings: "Open Settings",
  restart: "Restart Server",
  install: "How to Install",
  interpreter: "Select Interpreter",
};

/** A message; one of the level `status` passes by in the status bar. */
export interface Notice {
  readonly level: "status" | "info" | "warning" | "error";
  readonly text: string;
  readonly buttons: readonly Button[];
  readonly setting?: string;
}

/** An error as the protocol's library throws it. */
export interface Failure {
  readonly code?: number;
  readonly message: string;
  readonly reason?: string;
}

// The library's own codes: the server's end, or its absence, cost the answer.
const LOST: readonly number[] = [-32099, -32098, -32097, -32096];

/** What is known of an error, whoever threw it. */
export function failureOf(error: unknown): Failure {
  const { code, data } = (error ?? {}) as { code?: unknown; data?: unknown };
  const reason = (data as { reason?: unknown } | null | undefined)?.reason;
  return {
    message: error instanceof Error ? error.message : String(error),
    ...(typeof code === "number" ? { code } : {}),
    ...(typeof reason === "string" ? { reason } : {}),
  };
}

/** How an edit failed. */
export function failed({ code = 0, message, reason }: Failure): Notice {
  if (code === ErrorCode.CANCELLED) {
    return status(message === "cancelled" ? message : `cancelled: ${message}`);
  }
  if (code === ErrorCode.STALE) {
    return notice("warning", message, ["again"]);
  }
  if (code === ErrorCode.FAILED) {
    return reason === undefined
      ? notice("error", message, ["log", "settings"], "redraft.model")
      : refused(message, reason);
  }
  return LOST.includes(code)
    ? notice("error", "the server stopped; nothing was changed.", ["again", "log"])
    : notice("error", message, ["log"]);
}

const SETTINGS: Readonly<Partial<Record<string, string>>> = {
  token_limit: "redraft.maxTokens",
  timeout: "redraft.timeout",
  context: "redraft.nCtx",
} satisfies Partial<Record<Reason, string>>;

function refused(message: string, reason: string): Notice {
  const setting = SETTINGS[reason];
  const ways: Button[] = reason === "context" ? [] : ["retry"];
  return notice("warning", message, setting ? [...ways, "settings"] : ways, setting);
}

/** The model gave the same code back. */
export const UNCHANGED = notice("info", "no changes. The model answered with the same code.", [
  "retry",
]);

export const APPLIED = status("applied");
export const REJECTED = status("rejected, nothing was changed");

/** The preview of `name` can no longer be accepted. */
export function outdated(name: string): Notice {
  return notice("warning", `${name} was changed since the preview; nothing was applied.`, [
    "again",
    "keep",
  ]);
}

/** VS Code refused the edit of `name`. */
export function notApplied(name: string): Notice {
  return notice("error", `VS Code did not apply the change. Is ${name} read-only?`, []);
}

/** A document that the server is not told of. */
export function unsupported(scheme: string): Notice {
  return notice(
    "info",
    `only files on disk and untitled documents can be edited, not "${scheme}:" documents.`,
    [],
  );
}

export const NO_EDITOR = notice("info", "open a file first.", []);
export const NO_PREVIEW = notice("info", "there is no change to accept or reject.", []);
export const NO_PROBLEM = notice("info", "there is no problem at the cursor.", []);
export const NO_FIX = notice(
  "info",
  'the action "fix" is switched off.',
  ["settings"],
  "redraft.actions",
);
export const OUTDATED_ACTION = notice(
  "info",
  "the code changed since; choose the action again.",
  [],
);
export const GONE = notice("info", "that place is gone; put the cursor there and ask anew.", []);
export const MODEL_IS_HERE = notice("info", "the model is here.", []);
export const NOTHING_SELECTED = notice("info", "select some code first.", []);

/** The server dies again and again. */
export const GIVEN_UP = notice(
  "error",
  `the server stopped ${LIMIT + 1} times in ${WINDOW_MINUTES} minutes and is not started again.`,
  ["log", "restart"],
);

/** The server was found, and did not get as far as to answer. */
export function notStarted(command: string, message: string): Notice {
  return notice("error", `the server did not start (${command}): ${message}`, ["log", "restart"]);
}

/** What an edit cost, for the status bar. */
export function cost(stats: EditStats): Notice {
  const seconds = (stats.prefillSeconds + stats.decodeSeconds).toFixed(1);
  const speed = stats.tokensPerSecond > 0 ? `, ${rate(stats.tokensPerSecond)}` : "";
  return status(`${stats.outputTokens} tokens in ${seconds} s${speed}`);
}

/** Something worth knowing about an edit that worked. */
export function note(text: string): Notice {
  return notice("info", text, []);
}

export function notice(
  level: Notice["level"],
  text: string,
  buttons: readonly Button[],
  setting?: string,
): Notice {
  return { level, text: `redraft: ${text}`, buttons, ...(setting ? { setting } : {}) };
}

function status(text: string): Notice {
  return notice("status", text, []);
}
