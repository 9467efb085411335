/** How far an edit is, in words and as a share. */

import type { EditProgress } from "../protocol";

/** What a progress display says. */
export function told({ phase, done, expected, tokensPerSecond }: EditProgress): string {
  switch (phase) {
    case "waiting":
      return "waiting for the model";
    case "prefill":
      return `reading ${done} of ${expected} tokens`;
    case "decode": {
      const speed = tokensPerSecond > 0 ? `, ${rate(tokensPerSecond)}` : "";
      return `writing ${done} of about ${Math.max(done, expected)} tokens${speed}`;
    }
  }
}

/** A speed, such as "12 tokens/s". */
export function rate(tokensPerSecond: number): string {
  return `${tokensPerSecond < 10 ? tokensPerSecond.toFixed(1) : tokensPerSecond.toFixed(0)} tokens/s`;
}

/**
 * What a display that adds up percentages is to be given, from one standing to the next.
 *
 * Reading counts for a third, as in the server's own display. It never goes back.
 */
export class Steps {
  private shown = 0;

  /** Percentage points to add. */
  to({ phase, done, expected }: EditProgress): number {
    const share = Math.min(1, done / Math.max(1, expected));
    const now = phase === "waiting" ? 0 : phase === "prefill" ? 33 * share : 33 + 66 * share;
    const step = Math.max(0, now - this.shown);
    this.shown += step;
    return step;
  }
}
