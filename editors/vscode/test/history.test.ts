import assert from "node:assert/strict";
import { test } from "node:test";
import { Walk, remember } from "../src/core/history";

test("the newest instruction comes first", () => {
  assert.deepEqual(remember(["a"], "b"), ["b", "a"]);
});

test("an instruction given again moves to the front", () => {
  assert.deepEqual(remember(["c", "b", "a"], "a"), ["a", "c", "b"]);
});

test("the history is bounded", () => {
  let history: string[] = [];
  for (let n = 0; n < 500; n++) {
    history = remember(history, String(n));
  }
  assert.equal(history.length, 100);
  assert.equal(history[0], "499");
});

test("walking back and forth returns to what was typed", () => {
  const walk = new Walk(["second", "first"]);
  assert.equal(walk.older("typed"), "second");
  assert.equal(walk.older("second"), "first");
  assert.equal(walk.older("first"), "first");
  assert.equal(walk.newer("first"), "second");
  assert.equal(walk.newer("second"), "typed");
  assert.equal(walk.newer("typed"), "typed");
});

test("a former instruction changed on the way is kept while walking", () => {
  const walk = new Walk(["second", "first"]);
  walk.older("");
  walk.older("second, changed");
  assert.equal(walk.newer("first"), "second, changed");
});

test("without a history, Up leaves what was typed", () => {
  assert.equal(new Walk([]).older("typed"), "typed");
});
