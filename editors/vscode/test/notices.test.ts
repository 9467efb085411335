import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BUTTON_TITLES,
  type Button,
  createCallersNotice,
  createFailureNotice,
  createUnchangedNotice,
  readFailure,
} from "../src/core/notices";
import type { EditPreview } from "../src/protocol";

const REFUSALS: [string, Button[], string | undefined][] = [
  ["token_limit", ["retry", "settings"], "redraft.maxTokens"],
  ["timeout", ["retry", "settings"], "redraft.timeout"],
  ["context", ["settings"], "redraft.nCtx"],
  ["elision", ["retry"], undefined],
  ["parse_broken", ["retry"], undefined],
  ["deletion", ["retry"], undefined],
  ["no_code", ["retry"], undefined],
  ["a reason of a later version", ["retry"], undefined],
];

for (const [reason, buttons, setting] of REFUSALS) {
  test(`a refusal for ${reason} says why and offers a way on`, () => {
    const notice = createFailureNotice({ code: -32803, message: "The server's words.", reason });
    assert.equal(notice.text, "redraft: The server's words.");
    assert.equal(notice.level, "warning");
    assert.deepEqual(notice.buttons, buttons);
    assert.equal(notice.setting, setting);
  });
}

const WITHHELD = { outcome: "preview", version: 3 } as EditPreview;

for (const reason of ["deletion", "parse_broken"]) {
  test(`an edit withheld for ${reason} can be applied anyway`, () => {
    const data = { reason, stats: {}, lost: ["x = 1"], withheld: WITHHELD };
    const failure = readFailure(Object.assign(new Error("No."), { code: -32803, data }));
    assert.equal(failure.withheld, WITHHELD);
    assert.deepEqual(createFailureNotice(failure).buttons, ["retry", "anyway"]);
  });
}

test("a refusal without an edit offers none", () => {
  const data = { reason: "deletion", withheld: null };
  const failure = readFailure(Object.assign(new Error("No."), { code: -32803, data }));
  assert.deepEqual(failure, { code: -32803, message: "No.", reason: "deletion" });
});

test("where nothing changed another version can be asked for, once", () => {
  assert.deepEqual(createUnchangedNotice(false).buttons, ["version", "retry"]);
  assert.deepEqual(createUnchangedNotice(true).buttons, ["retry"]);
});

test("lines that an edit leaves behind are counted, and can be shown", () => {
  const start = { line: 1, character: 0 };
  const use = { range: { start, end: start }, text: "total()", definition: "total" };
  const one = createCallersNotice("shop.py", [use]);
  assert.equal(one.text, "redraft: 1 line of shop.py still uses the old total.");
  const more = createCallersNotice("shop.py", [use, use, { ...use, definition: "Cart.add" }]);
  assert.equal(more.text, "redraft: 3 lines of shop.py still use the old total, Cart.add.");
  assert.deepEqual(more.buttons, ["callers"]);
});

test("an edit the user cancelled is no more than a word in the status bar", () => {
  const notice = createFailureNotice({ code: -32800, message: "cancelled" });
  assert.deepEqual(notice, { level: "status", text: "redraft: cancelled", buttons: [] });
});

test("an edit cancelled for another reason names it", () => {
  const message = "replaced by a newer edit of this document";
  assert.equal(
    createFailureNotice({ code: -32800, message }).text,
    `redraft: cancelled: ${message}`,
  );
});

test("a stale edit can be run again", () => {
  const notice = createFailureNotice({ code: -32801, message: "stale", reason: "stale" });
  assert.equal(notice.level, "warning");
  assert.deepEqual(notice.buttons, ["rerun"]);
});

test("a model that cannot be loaded leads to the log and to its setting", () => {
  const notice = createFailureNotice({ code: -32803, message: "broken is damaged" });
  assert.equal(notice.level, "error");
  assert.deepEqual(notice.buttons, ["log", "settings"]);
  assert.equal(notice.setting, "redraft.model");
});

for (const code of [-32096, -32097, -32099]) {
  test(`a server that died (${code}) changed nothing, and the edit can be run again`, () => {
    const notice = createFailureNotice({ code, message: "Pending response rejected" });
    assert.match(notice.text, /stopped; nothing was changed/);
    assert.deepEqual(notice.buttons, ["rerun", "log"]);
  });
}

test("an error nobody foresaw is shown with the log", () => {
  assert.deepEqual(createFailureNotice({ message: "a bug" }), {
    level: "error",
    text: "redraft: a bug",
    buttons: ["log"],
  });
});

test("what an error holds is taken, whatever it is", () => {
  const error = Object.assign(new Error("late"), { code: -32803, data: { reason: "timeout" } });
  assert.deepEqual(readFailure(error), { code: -32803, message: "late", reason: "timeout" });
  assert.deepEqual(readFailure(new Error("x")), { message: "x" });
  assert.deepEqual(readFailure("x"), { message: "x" });
  assert.deepEqual(readFailure(undefined), { message: "undefined" });
  const systemError = Object.assign(new Error("no"), { code: "ENOENT", data: null });
  assert.deepEqual(readFailure(systemError), { message: "no" });
});

test("no two buttons have the same title", () => {
  assert.equal(new Set(Object.values(BUTTON_TITLES)).size, Object.keys(BUTTON_TITLES).length);
});
