/** Text and tooltip of the status item. */

import type { ModelState, Status } from "../protocol";
import { formatSpeed } from "./format";

/** The state of the server, as far as the extension knows it. */
export type ServerPhase = "missing" | "starting" | "running" | "stopped";

/** All that the item depends on. `speed` is in tokens/s, undefined where no edit is running. */
export interface StatusState {
  readonly phase: ServerPhase;
  readonly status?: Status | undefined;
  readonly speed?: number | undefined;
  readonly previews: number;
}

export interface StatusText {
  readonly text: string;
  readonly tooltip: string;
  readonly isWarning: boolean;
}

const SPINNER = "$(loading~spin) redraft";

/** Return what the item shows in `state`. */
export function buildStatusText(state: StatusState): StatusText {
  const isWarning = state.phase === "missing" || state.phase === "stopped";
  return {
    text: isWarning ? "$(warning) redraft" : buildText(state),
    tooltip: buildTooltip(state),
    isWarning,
  };
}

function buildText({ phase, status, speed, previews }: StatusState): string {
  if (phase === "starting") {
    return `${SPINNER}: starting`;
  }
  if (status?.model.state === "loading") {
    return `${SPINNER}: loading the model`;
  }
  if (speed !== undefined) {
    return speed > 0 ? `${SPINNER}: ${formatSpeed(speed)}` : `${SPINNER}: working`;
  }
  return previews > 0 ? "$(diff) redraft: review" : "$(pencil) redraft";
}

function buildTooltip({ phase, status }: StatusState): string {
  switch (phase) {
    case "missing":
      return "redraft: the server was not found";
    case "stopped":
      return "redraft: the server is not running";
    case "starting":
      return "redraft: the server is starting";
    case "running":
      return status === undefined
        ? "redraft"
        : `redraft ${status.version}\n${getModelName(status)}: ${MODEL_STATES[status.model.state]}`;
  }
}

const MODEL_STATES: Readonly<Record<ModelState, string>> = {
  unloaded: "not loaded, the next edit loads it",
  loading: "loading",
  loaded: "loaded",
};

/** Return the model's name, short enough for a menu: of a path, the file name without ".gguf". */
export function getModelName({ model }: Status): string {
  const file = model.name.split(/[\\/]/).at(-1) ?? "";
  return file.replace(/\.gguf$/, "") || "the model";
}
