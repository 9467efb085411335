/** Names in displays. */

const LONGEST = 60;

/** The first line of `text`, cut at 60 characters. */
export function short(text: string): string {
  const line = text.trim().split(/\r?\n|\r/, 1)[0] ?? "";
  const characters = Array.from(line);
  return characters.length <= LONGEST ? line : `${characters.slice(0, LONGEST - 1).join("")}…`;
}

/** The tab of a preview. */
export function diffTitle(file: string, label: string): string {
  return `${file} ↔ redraft: ${short(label)}`;
}
