/**
 * A document's text under edits: what they make of it, and where a span of it moves to.
 *
 * Lines end at LF, CRLF and CR, as in the protocol. Offsets and columns are UTF-16 units.
 */

import type { Position, TextEdit } from "../protocol";

/** A half-open part [start, end) of a text, in offsets. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** `length` units from `offset` on were replaced by `text`. */
export interface Change {
  readonly offset: number;
  readonly length: number;
  readonly text: string;
}

/**
 * Return `text` after `edits`, whose positions are all those of `text` itself.
 *
 * Throws RangeError where two overlap or one lies outside of the text.
 */
export function applyEdits(text: string, edits: readonly TextEdit[]): string {
  const lineStarts = [
    0,
    ...Array.from(text.matchAll(/\r\n|\r|\n/g), (ending) => ending.index + ending[0].length),
  ];
  const changes = edits
    .map(({ range, newText }) => ({
      start: toOffset(text, lineStarts, range.start),
      end: toOffset(text, lineStarts, range.end),
      newText,
    }))
    .sort((a, b) => a.start - b.start || a.end - b.end);
  const parts: string[] = [];
  let copied = 0; // of `text`, up to this offset
  for (const { start, end, newText } of changes) {
    if (start < copied || end < start) {
      throw new RangeError("the edits overlap");
    }
    parts.push(text.slice(copied, start), newText);
    copied = end;
  }
  return parts.join("") + text.slice(copied);
}

/** Return the line, from 0, on which the first of the edits begins, before and after them all. */
export function getFirstChangedLine(edits: readonly TextEdit[]): number {
  return Math.min(...edits.map(({ range }) => range.start.line));
}

/** Return where `span` is after `change`: what is typed inside it or over its ends belongs to it. */
export function moveSpan(span: Span, change: Change): Span {
  const changeEnd = change.offset + change.length;
  const growth = change.text.length - change.length;
  // This comes first: an empty span, which is a cursor, goes behind what is typed at it.
  if (changeEnd <= span.start) {
    return { start: span.start + growth, end: span.end + growth };
  }
  if (change.offset >= span.end) {
    return span;
  }
  const start = Math.min(span.start, change.offset);
  return { start, end: Math.max(span.end, changeEnd) + growth };
}

function toOffset(
  text: string,
  lineStarts: readonly number[],
  { line, character }: Position,
): number {
  // A line that does not exist lies behind every end.
  const offset = (lineStarts[line] ?? Infinity) + character;
  if (offset > (lineStarts[line + 1] ?? text.length)) {
    throw new RangeError(`${line + 1}:${character + 1} lies outside of the document`);
  }
  return offset;
}
