import assert from "node:assert/strict";
import { test } from "node:test";
import { buildExitMessage } from "../src/core/exitMessage";
import { ProgressIncrements, describeProgress } from "../src/core/progress";
import { RestartLimiter } from "../src/core/restarts";
import type { EditProgress } from "../src/protocol";

function createProgress(
  phase: EditProgress["phase"],
  done = 0,
  expected = 0,
  tokensPerSecond = 0,
): EditProgress {
  return { id: "1", uri: "file:///a.py", phase, done, expected, tokensPerSecond };
}

const MESSAGES: [EditProgress, string][] = [
  [createProgress("waiting"), "waiting for the model"],
  [createProgress("prefill", 120, 900), "reading 120 of 900 tokens"],
  [createProgress("decode", 1, 160), "writing 1 of about 160 tokens"],
  [createProgress("decode", 40, 160, 12.4), "writing 40 of about 160 tokens, 12 tokens/s"],
  [createProgress("decode", 40, 160, 7.25), "writing 40 of about 160 tokens, 7.3 tokens/s"],
  [createProgress("decode", 200, 160, 12), "writing 200 of about 200 tokens, 12 tokens/s"],
];

for (const [progress, expected] of MESSAGES) {
  test(`progress says "${expected}"`, () => {
    assert.equal(describeProgress(progress), expected);
  });
}

test("the increments add up to the share that is done, and never go back", () => {
  const increments = new ProgressIncrements();
  const advances = [
    createProgress("waiting"),
    createProgress("prefill", 50, 100),
    createProgress("prefill", 100, 100),
    createProgress("prefill", 10, 100), // it started over
    createProgress("decode", 50, 100),
    createProgress("decode", 300, 100), // more than expected
    createProgress("decode", 301, 0),
  ].map((progress) => increments.advance(progress));
  assert(advances.every((advance) => advance >= 0));
  assert.equal(advances[0], 0);
  assert.equal(advances[1], 16.5);
  assert.equal(
    advances.reduce((sum, advance) => sum + advance, 0),
    99,
  );
});

test("a server that crashes again and again is given up, and tried again later", () => {
  const limiter = new RestartLimiter();
  const minute = 60_000;
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((second) => limiter.recordCrash(second * 1000)),
    [true, true, true, true, false],
  );
  assert(limiter.recordCrash(4 * minute));
});

test("crashes far apart are never too many", () => {
  const limiter = new RestartLimiter();
  for (let n = 0; n < 100; n++) {
    assert(limiter.recordCrash(n * 60_000));
  }
});

const EXITS: [number | null, string | null, string, string][] = [
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

for (const [code, signal, stderr, expected] of EXITS) {
  test(`a server that has ended is described as "${expected}"`, () => {
    assert.equal(buildExitMessage(code, signal, stderr), expected);
  });
}
