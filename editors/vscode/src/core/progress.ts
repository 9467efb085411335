/** How far an edit is, in words and in percentage points. */

import type { EditProgress } from "../protocol";
import { formatSpeed } from "./format";

/** Return the message of a progress display. */
export function describeProgress(progress: EditProgress): string {
  const { phase, done, expected, tokensPerSecond } = progress;
  switch (phase) {
    case "waiting":
      return "waiting for the model";
    case "prefill":
      return `reading ${done} of ${expected} tokens`;
    case "decode": {
      const speed = tokensPerSecond > 0 ? `, ${formatSpeed(tokensPerSecond)}` : "";
      // `expected` is an estimate, which an edit may exceed.
      return `writing ${done} of about ${Math.max(done, expected)} tokens${speed}`;
    }
  }
}

/**
 * Turns the progress of one edit into increments, which VS Code's displays add up.
 *
 * Prefill counts for a third and decoding for the rest, as in the server's own display. An edit that
 * starts over goes back; the display stays where it is until the edit has caught up.
 */
export class ProgressIncrements {
  private reached = 0;

  /** Return the percentage points to add for `progress`. */
  advance({ phase, done, expected }: EditProgress): number {
    const share = Math.min(1, done / Math.max(1, expected));
    const percentage = phase === "waiting" ? 0 : phase === "prefill" ? 33 * share : 33 + 66 * share;
    const increment = Math.max(0, percentage - this.reached);
    this.reached += increment;
    return increment;
  }
}
