/** The sentence that tells the user how the server's process ended. */

/**
 * Describe how a process ended; without exit code and signal, it still runs.
 *
 * `stderr` is the end of what it wrote there. Its last line is added: Python names an error there.
 */
export function buildExitMessage(
  code: number | null,
  signal: string | null,
  stderr: string,
): string {
  const ending =
    signal !== null
      ? `it was ended by ${signal}`
      : code !== null
        ? `it ended with exit code ${code}`
        : "it does not answer";
  const lastLine = stderr.trim().split(/\r?\n/).at(-1)?.trim() ?? "";
  return lastLine === "" ? ending : `${ending}: ${lastLine}`;
}
