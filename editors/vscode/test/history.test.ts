import assert from "node:assert/strict";
import { test } from "node:test";
import { HistoryCursor, addToHistory, toLines, toOneLine } from "../src/core/history";

test("the newest instruction comes first", () => {
  assert.deepEqual(addToHistory(["a"], "b"), ["b", "a"]);
});

test("an instruction given again moves to the front", () => {
  assert.deepEqual(addToHistory(["c", "b", "a"], "a"), ["a", "c", "b"]);
});

test("the history is bounded", () => {
  let history: string[] = [];
  for (let n = 0; n < 500; n++) {
    history = addToHistory(history, String(n));
  }
  assert.equal(history.length, 100);
  assert.equal(history[0], "499");
});

test("walking back and forth returns to what was typed", () => {
  const cursor = new HistoryCursor(["second", "first"]);
  assert.equal(cursor.older("typed"), "second");
  assert.equal(cursor.older("second"), "first");
  assert.equal(cursor.older("first"), "first");
  assert.equal(cursor.newer("first"), "second");
  assert.equal(cursor.newer("second"), "typed");
  assert.equal(cursor.newer("typed"), "typed");
});

test("a former instruction changed on the way is kept while walking", () => {
  const cursor = new HistoryCursor(["second", "first"]);
  cursor.older("");
  cursor.older("second, changed");
  assert.equal(cursor.newer("first"), "second, changed");
});

test("without a history, Up leaves what was typed", () => {
  assert.equal(new HistoryCursor([]).older("typed"), "typed");
});

test("an instruction of several lines survives a box of one", () => {
  for (const instruction of ["a", "a\nb", "a\n\n  b\n", "", "\n", "a ⏎b"]) {
    assert.ok(!/[\r\n]/.test(toOneLine(instruction)));
    assert.equal(toLines(toOneLine(instruction)), instruction);
  }
  assert.equal(toLines(toOneLine("a\r\nb\rc")), "a\nb\nc");
});
