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
 * Return the changes that `edits` make, in the order of `text`; their positions are all those of
 * `text` itself.
 *
 * Throws RangeError where two overlap or one lies outside of the text.
 */
export function toChanges(text: string, edits: readonly TextEdit[]): Change[] {
  const lineStarts = [
    0,
    ...Array.from(text.matchAll(/\r\n|\r|\n/g), (ending) => ending.index + ending[0].length),
  ];
  const changes = edits
    .map(({ range, newText }) => {
      const offset = toOffset(text, lineStarts, range.start);
      return { offset, length: toOffset(text, lineStarts, range.end) - offset, text: newText };
    })
    .sort((a, b) => a.offset - b.offset || a.length - b.length);
  let end = 0; // of the change before
  for (const { offset, length } of changes) {
    if (offset < end || length < 0) {
      throw new RangeError("the edits overlap");
    }
    end = offset + length;
  }
  return changes;
}

/** Return `text` after `changes`, which are in its order and do not overlap. */
export function applyChanges(text: string, changes: readonly Change[]): string {
  const parts: string[] = [];
  let copied = 0; // of `text`, up to this offset
  for (const change of changes) {
    parts.push(text.slice(copied, change.offset), change.text);
    copied = change.offset + change.length;
  }
  return parts.join("") + text.slice(copied);
}

/**
 * Return `changes` of `text` after `other` was made in it; undefined where that touches a line that
 * one of them touches.
 */
export function moveChanges(
  text: string,
  changes: readonly Change[],
  other: Change,
): Change[] | undefined {
  const otherEnd = other.offset + other.length;
  const growth = other.text.length - other.length;
  const newText = applyChanges(text, [other]);
  const moved: Change[] = [];
  for (const change of changes) {
    const lineStart = findLineStart(text, change.offset);
    const lineEnd = findLineEnd(text, change.offset + change.length);
    // What is written right before the lines, or right behind them, is no part of them as long as a
    // line break divides them.
    const newStart = lineStart + growth;
    if (otherEnd <= lineStart && findLineStart(newText, newStart) === newStart) {
      moved.push({ ...change, offset: change.offset + growth });
    } else if (other.offset >= lineEnd && findLineEnd(newText, lineEnd) === lineEnd) {
      moved.push(change);
    } else {
      return undefined;
    }
  }
  return moved;
}

function findLineStart(text: string, offset: number): number {
  const before = text.slice(0, offset);
  return Math.max(before.lastIndexOf("\n"), before.lastIndexOf("\r")) + 1;
}

function findLineEnd(text: string, offset: number): number {
  const length = text.slice(offset).search(/[\r\n]/);
  return length < 0 ? text.length : offset + length;
}

/**
 * Return the index of the first edit of `target`; where none is in it, 0.
 *
 * `edits` are in the order of the text.
 */
export function findMainEdit(edits: readonly TextEdit[], target: Range): number {
  return Math.max(
    0,
    edits.findIndex(({ range }) => !isBefore(range.start, target.start)),
  );
}

/** A line, from 0, in a text before and after changes. */
export interface ChangedLine {
  readonly before: number;
  readonly after: number;
}

/** Return the line on which the change of this index begins. */
export function findChangedLine(
  text: string,
  changes: readonly Change[],
  index: number,
): ChangedLine {
  const offset = changes[index]?.offset ?? 0;
  const start = text.slice(0, offset);
  return {
    before: countLineEnds(start),
    after: countLineEnds(applyChanges(start, changes.slice(0, index))),
  };
}

function countLineEnds(text: string): number {
  return text.match(/\r\n|\r|\n/g)?.length ?? 0;
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
