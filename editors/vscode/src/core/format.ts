/** Titles and figures, as all displays write them. */

const MAX_TITLE_LENGTH = 60;

/** Return the first line of `text`, cut at 60 characters. */
export function shorten(text: string): string {
  const line = text.trim().split(/\r?\n|\r/, 1)[0] ?? "";
  const characters = Array.from(line); // by code point: an emoji is not cut in half
  return characters.length <= MAX_TITLE_LENGTH
    ? line
    : `${characters.slice(0, MAX_TITLE_LENGTH - 1).join("")}…`;
}

/** Return the title of a preview's tab. */
export function formatDiffTitle(file: string, label: string): string {
  return `${file} ↔ redraft: ${shorten(label)}`;
}

/** Return a speed in words, such as "12 tokens/s". */
export function formatSpeed(tokensPerSecond: number): string {
  return `${tokensPerSecond < 10 ? tokensPerSecond.toFixed(1) : tokensPerSecond.toFixed(0)} tokens/s`;
}
