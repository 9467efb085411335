import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Machine,
  type ProbeResult,
  type ServerConfig,
  createMissingServerNotice,
  expandPath,
  findServer,
} from "../src/core/discovery";

const CONFIG: ServerConfig = {
  path: "",
  python: "",
  isTrusted: true,
  folders: ["/work/a", "/work/b"],
  getSelectedInterpreter: () => Promise.resolve("/envs/py"),
};

/** Return a machine with `programs` on it, and with interpreters that are as `pythons` says. */
function createMachine(programs: string[], pythons: Record<string, ProbeResult> = {}): Machine {
  return {
    platform: "linux",
    searchPath: ["/usr/bin", "/opt/bin"],
    isProgram: (path) => Promise.resolve(programs.includes(path) || path in pythons),
    probe: (path) => Promise.resolve(pythons[path] ?? "does not run"),
  };
}

async function findCommand(config: ServerConfig, machine: Machine): Promise<string | undefined> {
  const result = await findServer(config, machine);
  return result.kind === "found"
    ? [result.launch.command, ...result.launch.args].join(" ")
    : undefined;
}

const ALL = createMachine(["/own/redraft", "/usr/bin/redraft", "/opt/bin/redraft"], {
  "/own/py": "has redraft",
  "/envs/py": "has redraft",
  "/work/a/.venv/bin/python": "has redraft",
  "/work/b/.venv/bin/python": "has redraft",
});
const LACKING = createMachine(["/opt/bin/redraft"], {
  "/envs/py": "lacks redraft",
  "/work/a/.venv/bin/python": "does not run",
  "/work/b/.venv/bin/python": "has redraft",
});
const selectNone = (): Promise<undefined> => Promise.resolve(undefined);

const FOUND: [string, ServerConfig, Machine, string][] = [
  [
    "the path that is set comes first",
    { ...CONFIG, path: "/own/redraft", python: "/own/py" },
    ALL,
    "/own/redraft",
  ],
  ["a name is looked up on the PATH", { ...CONFIG, path: "redraft" }, ALL, "/usr/bin/redraft"],
  ["then the interpreter that is set", { ...CONFIG, python: "/own/py" }, ALL, "/own/py -m redraft"],
  ["then the selected interpreter", CONFIG, ALL, "/envs/py -m redraft"],
  [
    "then the .venv of the first folder",
    { ...CONFIG, getSelectedInterpreter: selectNone },
    ALL,
    "/work/a/.venv/bin/python -m redraft",
  ],
  [
    "an interpreter without redraft is passed over",
    CONFIG,
    LACKING,
    "/work/b/.venv/bin/python -m redraft",
  ],
  [
    "then the PATH, in its order",
    { ...CONFIG, folders: [], getSelectedInterpreter: selectNone },
    ALL,
    "/usr/bin/redraft",
  ],
  [
    "nothing of a workspace that is not trusted is run",
    { ...CONFIG, isTrusted: false },
    ALL,
    "/usr/bin/redraft",
  ],
];

for (const [name, config, machine, expected] of FOUND) {
  test(name, async () => {
    assert.equal(await findCommand(config, machine), expected);
  });
}

test("a workspace that is not trusted is not even looked at", async () => {
  const probed: string[] = [];
  const machine: Machine = {
    ...ALL,
    isProgram: (path) => Promise.resolve(probed.push(path) < 0),
    probe: (path) => Promise.resolve(probed.push(path) > 0 ? "has redraft" : "does not run"),
  };
  await findServer({ ...CONFIG, isTrusted: false }, machine);
  assert.deepEqual(probed, ["/usr/bin/redraft", "/opt/bin/redraft"]);
});

test("on Windows the names are Windows'", async () => {
  const machine: Machine = {
    ...createMachine(["C:\\w\\.venv\\Scripts\\python.exe"], {
      "C:\\w\\.venv\\Scripts\\python.exe": "has redraft",
    }),
    platform: "win32",
  };
  const config = { ...CONFIG, folders: ["C:\\w"], getSelectedInterpreter: selectNone };
  assert.equal(await findCommand(config, machine), "C:\\w\\.venv\\Scripts\\python.exe -m redraft");
});

const WRONG: ["path" | "python", string, string][] = [
  ["path", "/gone/redraft", "which is no program"],
  ["path", "bin/redraft", "which is no full path"],
  ["path", "redraft-9", "which is not on the PATH"],
  ["python", "/gone/py", "which is no program"],
  ["python", "/envs/py", ": redraft is not installed there"],
  ["python", "/work/a/.venv/bin/python", ": it does not run"],
];

for (const [name, value, problem] of WRONG) {
  test(`redraft.server.${name} "${value}" is not passed over, ${problem}`, async () => {
    const result = await findServer({ ...CONFIG, [name]: value }, LACKING);
    assert(result.kind === "missing");
    const notice = createMissingServerNotice(result, { isTrusted: true, hasPython: true });
    assert(notice.text.startsWith(`redraft: redraft.server.${name} names ${value}`), notice.text);
    assert(notice.text.includes(problem), notice.text);
    assert.equal(notice.setting, `redraft.server.${name}`);
    assert.deepEqual(notice.buttons, ["settings", "install"]);
  });
}

test("when there is none, the message names all that was looked at", async () => {
  const result = await findServer(CONFIG, createMachine([], { "/envs/py": "lacks redraft" }));
  assert(result.kind === "missing");
  const { text, buttons } = createMissingServerNotice(result, { isTrusted: true, hasPython: true });
  assert.match(
    text,
    /selected in the Python extension, \/envs\/py: redraft is not installed there/,
  );
  assert.match(text, /\/work\/a\/\.venv\/bin\/python: there is none/);
  assert.match(text, /the PATH: there is no redraft on it/);
  assert.deepEqual(buttons, ["install", "interpreter", "settings"]);
});

test("that no interpreter is selected is said", async () => {
  const { trail } = await findServer(
    { ...CONFIG, folders: [], getSelectedInterpreter: selectNone },
    createMachine([]),
  );
  assert.match(trail[0] ?? "", /selected in the Python extension: there is none/);
});

test("distrust is named as a reason, and a missing Python extension offers no interpreter", async () => {
  const result = await findServer({ ...CONFIG, isTrusted: false }, createMachine([]));
  assert(result.kind === "missing");
  const { text, buttons } = createMissingServerNotice(result, {
    isTrusted: false,
    hasPython: false,
  });
  assert.match(text, /not trusted, only the PATH is searched/);
  assert.deepEqual(buttons, ["install", "settings"]);
});

const EXPANDED: [string, string][] = [
  ["~/bin/redraft", "/home/me/bin/redraft"],
  ["~", "/home/me"],
  ["/a/~/b", "/a/~/b"],
  ["${userHome}/x", "/home/me/x"],
  ["${workspaceFolder}/.venv/bin/python", "/work/a/.venv/bin/python"],
  ["${env:TOOLS}/redraft", "/opt/$&/redraft"],
  ["${env:NOT_SET}/redraft", "/redraft"],
  ["  ", ""],
];

for (const [path, expected] of EXPANDED) {
  test(`the setting "${path}" means "${expected}"`, () => {
    const environment = { TOOLS: "/opt/$&" };
    assert.equal(expandPath(path, { home: "/home/me", folder: "/work/a", environment }), expected);
  });
}

test("without a folder, its variable stays", () => {
  const variables = { home: "/h", folder: undefined, environment: {} };
  assert.equal(expandPath("${workspaceFolder}/x", variables), "${workspaceFolder}/x");
});
