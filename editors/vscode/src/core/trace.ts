/** The trace of the last edits as a text to read, and which parts of it came from where. */

import type { Trace } from "../protocol";

/** A part [start, end) of the text, in UTF-16 units; `origin` is null where it was not drafted. */
export interface Mark {
  readonly start: number;
  readonly end: number;
  readonly origin: string | null;
  readonly hover: string;
}

/** A text to show, and the parts of it to highlight. */
export interface MarkedText {
  readonly text: string;
  readonly marks: readonly Mark[];
}

/** Return `trace` as a text, with marks on the model's last answer. */
export function renderTrace(trace: Trace): MarkedText {
  if (trace.edits.length === 0) {
    return { text: "No edit has ended yet.\n", marks: [] };
  }
  let text = `The last edits, the newest first\n\n${renderTable(trace.edits)}\n`;
  if (trace.passes.length === 0) {
    return { text, marks: [] };
  }
  const drafted = trace.passes.reduce((sum, pass) => sum + pass.drafted, 0);
  text +=
    `\nThe model's last answer, raw: ${trace.passes.length} passes, ${drafted} tokens guessed ahead.\n` +
    "Highlighted is what was decoded afresh; the rest was guessed and confirmed.\n\n";
  const marks: Mark[] = [];
  for (const [n, pass] of trace.passes.entries()) {
    for (const { origin, text: piece } of pass.text) {
      const start = text.length;
      text += piece;
      const from = origin === null ? "decoded afresh" : `guessed from: ${origin}`;
      const time = `${(pass.seconds * 1000).toFixed(0)} ms`;
      const hover = `pass ${n + 1}, ${from}; ${pass.drafted} guessed, ${time}`;
      marks.push({ start, end: text.length, origin, hover });
    }
  }
  return { text: `${text}\n`, marks };
}

function renderTable(edits: Trace["edits"]): string {
  const rows = [...edits]
    .reverse()
    .map(({ outcome, reason, seconds, stats, uri }) => [
      reason ? `${outcome}: ${reason}` : outcome,
      `${seconds.toFixed(1)} s`,
      stats ? `${stats.outputTokens} tokens` : "",
      stats ? `${stats.tokensPerSecond.toFixed(0)}/s` : "",
      stats ? `${stats.tokensPerPass.toFixed(1)} in a pass` : "",
      stats ? `${stats.reusedTokens} of ${stats.promptTokens} prompt tokens reused` : "",
      getFileName(uri),
    ]);
  const widths = (rows[0] ?? []).map((_, n) => Math.max(...rows.map((row) => row[n]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, n) => cell.padEnd(widths[n] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function getFileName(uri: string): string {
  const name = uri.split("/").at(-1) ?? uri;
  try {
    return decodeURIComponent(name);
  } catch {
    return name; // it holds a "%" that begins no escape
  }
}
