/**
 * A document's text under edits: what they make of it, and where a span of it moves to.
 *
 * Lines end at LF, CRLF and CR, as in the protocol. Offsets and columns are UTF-16 units.
 */

import type { Position, Range, TextEdit } from "../protocol";

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

/** A line, from 0, in a text before and after edits. */
export interface ChangedLine {
  readonly before: number;
  readonly after: number;
}

/**
 * Return the line on which the first edit of `target` begins; where none is in it, the first of all.
 *
 * `edits` are in the order of the text.
 */
export function findChangedLine(edits: readonly TextEdit[], target: Range): ChangedLine {
  const index = edits.findIndex(({ range }) => !isBefore(range.start, target.start));
  const before = edits[Math.max(0, index)]?.range.start.line ?? 0;
  const growth = edits
    .slice(0, Math.max(0, index))
    .map(({ range, newText }) => {
      const nNew = newText.match(/\r\n|\r|\n/g)?.length ?? 0;
      return nNew - (range.end.line - range.start.line);
    })
    .reduce((sum, lines) => sum + lines, 0);
  return { before, after: before + growth };
}

function isBefore(position: Position, other: Position): boolean {
  return (
    position.line < other.line ||
    (position.line === other.line && position.character < other.character)
  );
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
