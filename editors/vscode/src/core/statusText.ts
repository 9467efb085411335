/** What the status item shows. */

import type { Status } from "../protocol";
import { rate } from "./progress";

/** The server, as far as the extension knows. */
export type Phase = "missing" | "starting" | "running" | "stopped";

/** All that the item depends on. `speed` is undefined where no edit is under way, in tokens/s. */
export interface State {
  readonly phase: Phase;
  readonly status?: Status | undefined;
  readonly speed?: number | undefined;
  readonly previews: number;
}

export interface Look {
  readonly text: string;
  readonly tooltip: string;
  readonly isWarning: boolean;
}

const SPIN = "$(loading~spin) redraft";

/** The item for `state`. */
export function look(state: State): Look {
  const isWarning = state.phase === "missing" || state.phase === "stopped";
  return {
    text: isWarning ? "$(warning) redraft" : text(state),
    tooltip: tooltip(state),
    isWarning,
  };
}

function text({ phase, status, speed, previews }: State): string {
  if (phase === "starting") {
    return `${SPIN}: starting`;
  }
  if (status?.model.state === "loading") {
    return `${SPIN}: loading the model`;
  }
  if (speed !== undefined) {
    return speed > 0 ? `${SPIN}: ${rate(speed)}` : `${SPIN}: working`;
  }
  return previews > 0 ? "$(diff) redraft: review" : "$(pencil) redraft";
}

function tooltip({ phase, status }: State): string {
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
        : `redraft ${status.version}\n${modelName(status)}: ${STATES[status.model.state]}`;
  }
}

const STATES: Readonly<Record<Status["model"]["state"], string>> = {
  unloaded: "not loaded, the next edit loads it",
  loading: "loading",
  loaded: "loaded",
};

/** The model, short enough for a menu: a path's file name without its ending. */
export function modelName({ model }: Status): string {
  const file = model.name.split(/[\\/]/).at(-1) ?? "";
  return file.replace(/\.gguf$/, "") || "the model";
}
