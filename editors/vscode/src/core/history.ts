/** Former instructions, newest first; and walking through them as a shell does. */

const LIMIT = 100;

/** `history` with `instruction` as its newest, each instruction once, the oldest dropped. */
export function remember(history: readonly string[], instruction: string): string[] {
  return [instruction, ...history.filter((each) => each !== instruction)].slice(0, LIMIT);
}

/** A walk from what is being typed, the newest entry, to the oldest. */
export class Walk {
  private readonly stops: string[];
  private at = 0;

  constructor(history: readonly string[]) {
    this.stops = ["", ...history];
  }

  /** The instruction before the one shown; `shown` is kept for the way back. */
  older(shown: string): string {
    return this.go(shown, this.at + 1);
  }

  /** The instruction after the one shown. */
  newer(shown: string): string {
    return this.go(shown, this.at - 1);
  }

  private go(shown: string, to: number): string {
    this.stops[this.at] = shown;
    this.at = Math.min(Math.max(to, 0), this.stops.length - 1);
    return this.stops[this.at] ?? shown;
  }
}
