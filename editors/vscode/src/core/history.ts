/** Former instructions, the newest first, and walking through them as a shell does. */

const LIMIT = 100;

/** Return `history` with `instruction` as its newest, each one once, the oldest dropped. */
export function addToHistory(history: readonly string[], instruction: string): string[] {
  return [instruction, ...history.filter((former) => former !== instruction)].slice(0, LIMIT);
}

/** A position between what is being typed, the newest entry, and the oldest instruction. */
export class HistoryCursor {
  private readonly entries: string[];
  private index = 0;

  constructor(history: readonly string[]) {
    this.entries = ["", ...history];
  }

  /** Return the instruction before the current one; `typed` is kept for the way back. */
  older(typed: string): string {
    return this.moveTo(this.index + 1, typed);
  }

  /** Return the instruction after the current one; `typed` is kept for the way back. */
  newer(typed: string): string {
    return this.moveTo(this.index - 1, typed);
  }

  private moveTo(index: number, typed: string): string {
    this.entries[this.index] = typed;
    this.index = Math.min(Math.max(index, 0), this.entries.length - 1);
    return this.entries[this.index] ?? typed;
  }
}

/** Stands for a line break where a text is shown on one line. */
const LINE_BREAK = " \u23ce ";

/** Return an instruction as a box of one line shows it. */
export function toOneLine(instruction: string): string {
  return instruction.replace(/\r\n|\r|\n/g, LINE_BREAK);
}

/** Return the instruction that a box of one line shows. */
export function toLines(shown: string): string {
  return shown.replaceAll(LINE_BREAK, "\n");
}
