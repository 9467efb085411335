import assert from "node:assert/strict";
import { test } from "node:test";
import { epitaph } from "../src/core/exitMessage";
import { Steps, told } from "../src/core/progress";
import { Restarts } from "../src/core/restarts";
import type { EditProgress } from "../src/protocol";

function standing(
  phase: EditProgress["phase"],
  done = 0,
  expected = 0,
  tokensPerSecond = 0,
): EditProgress {
  return { id: "1", uri: "file:///a.py", phase, done, expected, tokensPerSecond };
}

const TOLD: [EditProgress, string][] = [
  [standing("waiting"), "waiting for the model"],
  [standing("prefill", 120, 900), "reading 120 of 900 tokens"],
  [standing("decode", 1, 160), "writing 1 of about 160 tokens"],
  [standing("decode", 40, 160, 12.4), "writing 40 of about 160 tokens, 12 tokens/s"],
  [standing("decode", 40, 160, 7.25), "writing 40 of about 160 tokens, 7.3 tokens/s"],
  [standing("decode", 200, 160, 12), "writing 200 of about 200 tokens, 12 tokens/s"],
];

for (const [state, expected] of TOLD) {
  test(`progress says "${expected}"`, () => {
    assert.equal(told(state), expected);
  });
}

test("the steps add up to the share that is done, and never go back", () => {
  const steps = new Steps();
  const all = [
    standing("waiting"),
    standing("prefill", 50, 100),
    standing("prefill", 100, 100),
    standing("prefill", 10, 100), // began anew
    standing("decode", 50, 100),
    standing("decode", 300, 100), // more than expected
    standing("decode", 301, 0),
  ].map((each) => steps.to(each));
  assert(all.every((step) => step >= 0));
  assert.equal(all[0], 0);
  assert.equal(all[1], 16.5);
  assert.equal(
    all.reduce((sum, step) => sum + step, 0),
    99,
  );
});

test("a server that dies again and again is given up, and tried again later", () => {
  const restarts = new Restarts();
  const minute = 60_000;
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((second) => restarts.allows(second * 1000)),
    [true, true, true, true, false],
  );
  assert(restarts.allows(4 * minute));
});

test("deaths far apart are never too many", () => {
  const restarts = new Restarts();
  for (let n = 0; n < 100; n++) {
    assert(restarts.allows(n * 60_000));
  }
});

const ENDED: [number | null, string | null, string, string][] = [
  [1, null, "", "it ended with exit code 1"],
  [
    1,
    null,
    "Traceback\n  x\nNo module named pygls\n",
    "it ended with exit code 1: No module named pygls",
  ],
  [null, "SIGILL", "", "it was ended by SIGILL"],
  [null, null, "waiting\r\n", "it does not answer: waiting"],
];

for (const [code, signal, words, expected] of ENDED) {
  test(`of a server that is gone is said "${expected}"`, () => {
    assert.equal(epitaph(code, signal, words), expected);
  });
}
