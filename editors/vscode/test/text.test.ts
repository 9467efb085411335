import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Change,
  applyChanges,
  findChangedLine,
  findMainEdit,
  moveChanges,
  moveSpan,
  toChanges,
} from "../src/core/text";
import type { TextEdit } from "../src/protocol";

function edit(from: [number, number], to: [number, number], newText: string): TextEdit {
  const [start, end] = [from, to].map(([line, character]) => ({ line, character }));
  assert(start && end);
  return { range: { start, end }, newText };
}

function applyEdits(text: string, edits: readonly TextEdit[]): string {
  return applyChanges(text, toChanges(text, edits));
}

const APPLICATIONS: [string, string, TextEdit[], string][] = [
  ["nothing", "a\nb\n", [], "a\nb\n"],
  ["an insertion into an empty text", "", [edit([0, 0], [0, 0], "x")], "x"],
  ["an insertion at the end", "a\n", [edit([1, 0], [1, 0], "b")], "a\nb"],
  ["a deletion of a whole line", "a\nb\nc", [edit([1, 0], [2, 0], "")], "a\nc"],
  ["a change below CRLF", "a\r\nbc\r\n", [edit([1, 1], [1, 2], "d")], "a\r\nbd\r\n"],
  ["a change below a lone CR", "a\rbc", [edit([1, 0], [1, 1], "x")], "a\rxc"],
  ["a change after an emoji, two units wide", "'🎈' + x", [edit([0, 7], [0, 8], "y")], "'🎈' + y"],
  [
    "a change below U+2028 and a form feed",
    "a\u2028\fb\nc",
    [edit([1, 0], [1, 1], "d")],
    "a\u2028\fb\nd",
  ],
  ["edits in any order", "abc", [edit([0, 2], [0, 3], "C"), edit([0, 0], [0, 1], "A")], "AbC"],
  ["two that touch", "ab", [edit([0, 0], [0, 1], "x"), edit([0, 1], [0, 2], "y")], "xy"],
];

for (const [name, text, edits, expected] of APPLICATIONS) {
  test(`applying ${name}`, () => {
    assert.equal(applyEdits(text, edits), expected);
  });
}

test("edits that overlap are refused", () => {
  const edits = [edit([0, 0], [0, 2], ""), edit([0, 1], [0, 3], "")];
  assert.throws(() => applyEdits("abc", edits), /overlap/);
});

test("an edit outside of the text is refused", () => {
  assert.throws(() => applyEdits("a\n", [edit([2, 0], [2, 0], "x")]), /3:1 lies outside/);
  assert.throws(() => applyEdits("a", [edit([0, 2], [0, 2], "x")]), /1:3 lies outside/);
});

const TEXT = "0\n1\n2\n3\n4\n5    5\n6\n7\n8\n9\n";
const IMPORTS = edit([1, 0], [1, 0], "import a\r\nimport b\n");
const FUNCTION = { start: { line: 5, character: 4 }, end: { line: 9, character: 0 } };
const CHANGED_LINES: [string, TextEdit[], number, number][] = [
  ["the target's", [edit([5, 4], [5, 5], ""), edit([7, 0], [8, 0], "")], 5, 5],
  ["below the imports that were added", [IMPORTS, edit([7, 0], [8, 0], "")], 7, 9],
  ["below lines that are gone", [edit([1, 0], [3, 0], "\r"), edit([7, 0], [8, 0], "")], 7, 6],
  ["the imports', without another", [IMPORTS], 1, 1],
];

for (const [name, edits, before, after] of CHANGED_LINES) {
  test(`the first changed line is ${name}`, () => {
    const main = findMainEdit(edits, FUNCTION);
    assert.deepEqual(findChangedLine(TEXT, toChanges(TEXT, edits), main), { before, after });
  });
}

// In "a\nb\nc\nd\n" the lines b and d are to become B and D.
const OTHER_CHANGES: [string, Change, string | undefined][] = [
  ["a line in front of all", { offset: 0, length: 0, text: "x\n" }, "x\na\nB\nc\nD\n"],
  ["a line right in front", { offset: 2, length: 0, text: "x\n" }, "a\nx\nB\nc\nD\n"],
  ["a line between", { offset: 4, length: 1, text: "longer" }, "a\nB\nlonger\nD\n"],
  ["a line behind all", { offset: 8, length: 0, text: "x" }, "a\nB\nc\nD\nx"],
  ["a line taken out between", { offset: 4, length: 2, text: "" }, "a\nB\nD\n"],
  ["a line right behind", { offset: 3, length: 0, text: "\nx" }, "a\nB\nx\nc\nD\n"],
  ["the line break behind", { offset: 3, length: 1, text: "" }, undefined],
  ["the line break in front", { offset: 1, length: 1, text: "" }, undefined],
  ["the same line, in front", { offset: 2, length: 0, text: "x" }, undefined],
  ["the same line, behind", { offset: 3, length: 0, text: "x" }, undefined],
  ["over one", { offset: 1, length: 4, text: "" }, undefined],
];

for (const [name, other, expected] of OTHER_CHANGES) {
  test(`changes move past a change of ${name}, or are touched`, () => {
    const text = "a\nb\nc\nd\n";
    const changes = [
      { offset: 2, length: 1, text: "B" },
      { offset: 6, length: 1, text: "D" },
    ];
    const moved = moveChanges(text, changes, other);
    assert.equal(moved && applyChanges(applyChanges(text, [other]), moved), expected);
  });
}

// The text is "0123456789" and the span [3, 6); what stands there after the change is what counts.
const MOVES: [string, { offset: number; length: number; text: string }, string][] = [
  ["before it, longer", { offset: 0, length: 1, text: "abc" }, "345"],
  ["before it, a deletion", { offset: 0, length: 3, text: "" }, "345"],
  ["right before it", { offset: 3, length: 0, text: "abc" }, "345"],
  ["right behind it", { offset: 6, length: 0, text: "abc" }, "345"],
  ["behind it", { offset: 8, length: 2, text: "" }, "345"],
  ["inside of it", { offset: 4, length: 1, text: "abc" }, "3abc5"],
  ["all of it", { offset: 3, length: 3, text: "abcd" }, "abcd"],
  ["over its start", { offset: 2, length: 2, text: "ab" }, "ab45"],
  ["over its end", { offset: 5, length: 3, text: "ab" }, "34ab"],
  ["over the whole of it", { offset: 1, length: 8, text: "" }, ""],
];

for (const [name, change, expected] of MOVES) {
  test(`a span stays where it is when the change is ${name}`, () => {
    const text = "0123456789";
    const { start, end } = moveSpan({ start: 3, end: 6 }, change);
    const { offset, length } = change;
    const after = text.slice(0, offset) + change.text + text.slice(offset + length);
    assert.equal(after.slice(start, end), expected);
  });
}

test("a cursor goes behind what is typed at it", () => {
  const change = { offset: 3, length: 0, text: "ab" };
  assert.deepEqual(moveSpan({ start: 3, end: 3 }, change), { start: 5, end: 5 });
});
