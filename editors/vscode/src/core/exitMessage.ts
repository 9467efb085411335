/** How a process ended, in a sentence that says what to look for. */

/** `words` are the last ones it wrote to stderr, of which the last line names a Python error. */
export function epitaph(code: number | null, signal: string | null, words: string): string {
  const how =
    signal !== null
      ? `it was ended by ${signal}`
      : code !== null
        ? `it ended with exit code ${code}`
        : "it does not answer";
  const last = words.trim().split(/\r?\n/).at(-1)?.trim() ?? "";
  return last === "" ? how : `${how}: ${last}`;
}
