/**
 * A document's text under edits: what they make of it, and where a place in it moves to.
 *
 * Lines end at LF, CRLF and CR, as in the protocol. Offsets and columns are UTF-16 units.
 */

import type { Position, TextEdit } from "../protocol";

/** A half-open part [start, end) of a text, in offsets. */
export interface Place {
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
 * `text` after `edits`, which are all of its own coordinates.
 *
 * Throws RangeError where two overlap or one lies outside of the text.
 */
export function applyEdits(text: string, edits: readonly TextEdit[]): string {
  const starts = lineStarts(text);
  const changes = edits
    .map(({ range, newText }) => ({
      start: offsetAt(text, starts, range.start),
      end: offsetAt(text, starts, range.end),
      newText,
    }))
    .sort((a, b) => a.start - b.start || a.end - b.end);
  const parts: string[] = [];
  let done = 0;
  for (const { start, end, newText } of changes) {
    if (start < done || end < start) {
      throw new RangeError("the edits overlap");
    }
    parts.push(text.slice(done, start), newText);
    done = end;
  }
  return parts.join("") + text.slice(done);
}

/** The line, counted from 0 and after all edits, on which the first of them begins to show. */
export function firstChangedLine(edits: readonly TextEdit[]): number {
  return Math.min(...edits.map(({ range }) => range.start.line));
}

/** Where `place` is after `change`: what is typed inside it or over its ends belongs to it. */
export function moved(place: Place, change: Change): Place {
  const stop = change.offset + change.length;
  const grown = change.text.length - change.length;
  if (stop <= place.start) {
    return { start: place.start + grown, end: place.end + grown };
  }
  if (change.offset >= place.end) {
    return place;
  }
  const start = Math.min(place.start, change.offset);
  return { start, end: Math.max(place.end, stop) + grown };
}

function lineStarts(text: string): number[] {
  return [0, ...Array.from(text.matchAll(/\r\n|\r|\n/g), (end) => end.index + end[0].length)];
}

function offsetAt(text: string, starts: readonly number[], { line, character }: Position): number {
  const start = starts[line];
  const offset = (start ?? Infinity) + character;
  if (offset > (starts[line + 1] ?? text.length)) {
    throw new RangeError(`${line + 1}:${character + 1} lies outside of the document`);
  }
  return offset;
}
