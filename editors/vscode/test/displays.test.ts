import assert from "node:assert/strict";
import { test } from "node:test";
import { renderDebugInfo } from "../src/core/debugInfo";
import { formatDiffTitle, shorten } from "../src/core/format";
import { selectServerSettings } from "../src/core/settings";
import { type StatusState, buildStatusText, getModelName } from "../src/core/statusText";
import { renderTrace } from "../src/core/trace";
import type { EditStats, ModelState, Status, Trace } from "../src/protocol";

function createStatus(state: ModelState, name = "qwen2.5-coder-1.5b"): Status {
  const idle = { edits: [], waiting: 0, documents: 2, warm: { "file:///a.py": 3 } };
  return { version: "0.1.0", model: { name, state }, ...idle };
}

const RUNNING: StatusState = { phase: "running", status: createStatus("loaded"), previews: 0 };

const STATUS_TEXTS: [string, StatusState, string][] = [
  ["missing", { ...RUNNING, phase: "missing" }, "$(warning) redraft"],
  ["given up", { ...RUNNING, phase: "stopped" }, "$(warning) redraft"],
  ["starting", { ...RUNNING, phase: "starting" }, "$(loading~spin) redraft: starting"],
  ["idle", RUNNING, "$(pencil) redraft"],
  [
    "loading",
    { ...RUNNING, status: createStatus("loading"), speed: 0 },
    "$(loading~spin) redraft: loading the model",
  ],
  ["reading", { ...RUNNING, speed: 0 }, "$(loading~spin) redraft: working"],
  ["writing", { ...RUNNING, speed: 12.3 }, "$(loading~spin) redraft: 12 tokens/s"],
  ["waiting for the user", { ...RUNNING, previews: 1 }, "$(diff) redraft: review"],
];

for (const [name, state, expected] of STATUS_TEXTS) {
  test(`the status item of a server that is ${name}`, () => {
    assert.equal(buildStatusText(state).text, expected);
    assert.equal(buildStatusText(state).isWarning, expected.startsWith("$(warning)"));
  });
}

test("the tooltip names version, model and state", () => {
  assert.equal(buildStatusText(RUNNING).tooltip, "redraft 0.1.0\nqwen2.5-coder-1.5b: loaded");
});

test("a model that is a file is called by its name", () => {
  assert.equal(getModelName(createStatus("loaded", "/models/my.gguf")), "my");
  assert.equal(getModelName(createStatus("loaded", "C:\\models\\my.gguf")), "my");
  assert.equal(getModelName(createStatus("loaded", "")), "the model");
});

test("titles are one line of at most 60 characters", () => {
  assert.equal(shorten("  Add a docstring\nand more"), "Add a docstring");
  assert.equal(Array.from(shorten("🎈".repeat(61))).length, 60);
  assert.equal(shorten("x".repeat(60)), "x".repeat(60));
  assert.equal(formatDiffTitle("a.py", "Simplify"), "a.py ↔ redraft: Simplify");
});

test("the server gets what is set and is its own", () => {
  const section = {
    preview: "diff",
    server: { path: "/x", python: "" },
    trace: { server: "off" },
    model: "",
    timeout: null,
    warm: false,
    topK: 0,
    actions: { log: { instruction: "x" } },
  };
  const actions = { log: { instruction: "x" } };
  assert.deepEqual(selectServerSettings(section), { warm: false, topK: 0, actions });
  assert.deepEqual(selectServerSettings(null), {});
});

const STATS: EditStats = {
  promptTokens: 100,
  reusedTokens: 90,
  outputTokens: 40,
  passes: 10,
  drafted: 50,
  accepted: 30,
  prefillSeconds: 0.1,
  decodeSeconds: 0.5,
  calibrationSeconds: 0,
  draftSeconds: 0,
  tokensPerPass: 4,
  tokensPerSecond: 80,
};

const TRACE: Trace = {
  edits: [
    {
      id: "1",
      uri: "file:///w/a%20b.py",
      phase: "decode",
      done: 9,
      expected: 9,
      tokensPerSecond: 1,
      outcome: "failed",
      reason: "elision",
      seconds: 1.25,
      stats: null,
    },
    {
      id: "2",
      uri: "file:///w/c.py",
      phase: "decode",
      done: 9,
      expected: 9,
      tokensPerSecond: 1,
      outcome: "preview",
      reason: null,
      seconds: 0.6,
      stats: STATS,
    },
  ],
  passes: [
    { drafted: 0, seconds: 0.05, text: [{ origin: null, text: "def " }] },
    {
      drafted: 8,
      seconds: 0.06,
      text: [
        { origin: "copy", text: "f():\n" },
        { origin: null, text: "x" },
      ],
    },
  ],
};

test("a trace shows the newest edit first, and marks the answer by its origins", () => {
  const { text, marks } = renderTrace(TRACE);
  const lines = text.split("\n");
  assert.match(
    lines[2] ?? "",
    /^preview .*0\.6 s .*40 tokens.*80\/s.*4\.0 in a pass.*90 of 100.*c\.py$/,
  );
  assert.match(lines[3] ?? "", /^failed: elision .*1\.3 s .*a b\.py$/);
  assert.deepEqual(
    marks.map(({ start, end, origin }) => [text.slice(start, end), origin]),
    [
      ["def ", null],
      ["f():\n", "copy"],
      ["x", null],
    ],
  );
  assert.equal(marks[1]?.hover, "pass 2, guessed from: copy; 8 guessed, 60 ms");
});

test("a trace without an answer has no marks", () => {
  assert.deepEqual(renderTrace({ ...TRACE, passes: [] }).marks, []);
  assert.deepEqual(renderTrace({ edits: [], passes: [] }), {
    text: "No edit has ended yet.\n",
    marks: [],
  });
});

test("the debug information says how the server was found, and what it is doing", () => {
  const environment = {
    extension: "0.1.0",
    vscode: "1.100.0",
    platform: "linux x64",
    remote: "local",
    isTrusted: false,
    settings: { "redraft.timeout": 3 },
  };
  const launch = { command: "/envs/py", args: ["-m", "redraft"] };
  const searchResult = { kind: "found", launch, trail: ["the PATH: x"] } as const;
  const text = renderDebugInfo({
    ...environment,
    phase: "running",
    searchResult,
    status: createStatus("loaded"),
  });
  for (const part of [
    "not trusted",
    "`/envs/py -m redraft serve`",
    "the PATH: x",
    '"redraft.timeout": 3',
    "1 prefilled",
  ]) {
    assert(text.includes(part), part);
  }
  assert.match(
    renderDebugInfo({
      ...environment,
      phase: "starting",
      searchResult: undefined,
      status: undefined,
    }),
    /command: none/,
  );
});
