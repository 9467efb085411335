import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Machine,
  type Probe,
  type Wishes,
  expand,
  find,
  missing,
} from "../src/core/discovery";

const WISHES: Wishes = {
  path: "",
  python: "",
  isTrusted: true,
  folders: ["/work/a", "/work/b"],
  selected: () => Promise.resolve("/envs/py"),
};

/** A machine with `programs` on it, of which the interpreters have redraft as `pythons` says. */
function machine(programs: string[], pythons: Record<string, Probe> = {}): Machine {
  return {
    platform: "linux",
    searchPath: ["/usr/bin", "/opt/bin"],
    isProgram: (path) => Promise.resolve(programs.includes(path) || path in pythons),
    probe: (path) => Promise.resolve(pythons[path] ?? "does not run"),
  };
}

async function command(wishes: Wishes, on: Machine): Promise<string | undefined> {
  const found = await find(wishes, on);
  return found.kind === "found"
    ? [found.launch.command, ...found.launch.args].join(" ")
    : undefined;
}

const ALL = machine(["/own/redraft", "/usr/bin/redraft", "/opt/bin/redraft"], {
  "/own/py": "has redraft",
  "/envs/py": "has redraft",
  "/work/a/.venv/bin/python": "has redraft",
  "/work/b/.venv/bin/python": "has redraft",
});
const LACKING = machine(["/opt/bin/redraft"], {
  "/envs/py": "lacks redraft",
  "/work/a/.venv/bin/python": "does not run",
  "/work/b/.venv/bin/python": "has redraft",
});
const none = (): Promise<undefined> => Promise.resolve(undefined);

const FOUND: [string, Wishes, Machine, string][] = [
  [
    "the path that is set comes first",
    { ...WISHES, path: "/own/redraft", python: "/own/py" },
    ALL,
    "/own/redraft",
  ],
  ["a name is looked up on the PATH", { ...WISHES, path: "redraft" }, ALL, "/usr/bin/redraft"],
  ["then the interpreter that is set", { ...WISHES, python: "/own/py" }, ALL, "/own/py -m redraft"],
  ["then the selected interpreter", WISHES, ALL, "/envs/py -m redraft"],
  [
    "then the .venv of the first folder",
    { ...WISHES, selected: none },
    ALL,
    "/work/a/.venv/bin/python -m redraft",
  ],
  [
    "an interpreter without redraft is passed over",
    WISHES,
    LACKING,
    "/work/b/.venv/bin/python -m redraft",
  ],
  [
    "then the PATH, in its order",
    { ...WISHES, folders: [], selected: none },
    ALL,
    "/usr/bin/redraft",
  ],
  [
    "nothing of a workspace that is not trusted is run",
    { ...WISHES, isTrusted: false },
    ALL,
    "/usr/bin/redraft",
  ],
];

for (const [name, wishes, on, expected] of FOUND) {
  test(name, async () => {
    assert.equal(await command(wishes, on), expected);
  });
}

test("a workspace that is not trusted is not even looked at", async () => {
  const asked: string[] = [];
  const watched: Machine = {
    ...ALL,
    isProgram: (path) => Promise.resolve(asked.push(path) < 0),
    probe: (path) => Promise.resolve(asked.push(path) > 0 ? "has redraft" : "does not run"),
  };
  await find({ ...WISHES, isTrusted: false }, watched);
  assert.deepEqual(asked, ["/usr/bin/redraft", "/opt/bin/redraft"]);
});

test("on Windows the names are Windows'", async () => {
  const on: Machine = {
    ...machine(["C:\\w\\.venv\\Scripts\\python.exe"], {
      "C:\\w\\.venv\\Scripts\\python.exe": "has redraft",
    }),
    platform: "win32",
  };
  const wishes = { ...WISHES, folders: ["C:\\w"], selected: none };
  assert.equal(await command(wishes, on), "C:\\w\\.venv\\Scripts\\python.exe -m redraft");
});

const WRONG: ["path" | "python", string, string][] = [
  ["path", "/gone/redraft", "which is no program"],
  ["path", "bin/redraft", "which is no full path"],
  ["path", "redraft-9", "which is not on the PATH"],
  ["python", "/gone/py", "which is no program"],
  ["python", "/envs/py", ": redraft is not installed there"],
  ["python", "/work/a/.venv/bin/python", ": it does not run"],
];

for (const [name, value, trouble] of WRONG) {
  test(`redraft.server.${name} "${value}" is not passed over, ${trouble}`, async () => {
    const found = await find({ ...WISHES, [name]: value }, LACKING);
    assert(found.kind === "missing");
    const notice = missing(found, { isTrusted: true, hasPython: true });
    assert(notice.text.startsWith(`redraft: redraft.server.${name} names ${value}`), notice.text);
    assert(notice.text.includes(trouble), notice.text);
    assert.equal(notice.setting, `redraft.server.${name}`);
    assert.deepEqual(notice.buttons, ["settings", "install"]);
  });
}

test("when there is none, the message names all that was looked at", async () => {
  const found = await find(WISHES, machine([], { "/envs/py": "lacks redraft" }));
  assert(found.kind === "missing");
  const { text, buttons } = missing(found, { isTrusted: true, hasPython: true });
  assert.match(
    text,
    /selected in the Python extension, \/envs\/py: redraft is not installed there/,
  );
  assert.match(text, /\/work\/a\/\.venv\/bin\/python: there is none/);
  assert.match(text, /the PATH: there is no redraft on it/);
  assert.deepEqual(buttons, ["install", "interpreter", "settings"]);
});

test("that no interpreter is selected is said", async () => {
  const { trail } = await find({ ...WISHES, folders: [], selected: none }, machine([]));
  assert.match(trail[0] ?? "", /selected in the Python extension: there is none/);
});

test("distrust is named as a reason, and a missing Python extension offers no interpreter", async () => {
  const found = await find({ ...WISHES, isTrusted: false }, machine([]));
  assert(found.kind === "missing");
  const { text, buttons } = missing(found, { isTrusted: false, hasPython: false });
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
    assert.equal(expand(path, { home: "/home/me", folder: "/work/a", environment }), expected);
  });
}

test("without a folder, its variable stays", () => {
  const variables = { home: "/h", folder: undefined, environment: {} };
  assert.equal(expand("${workspaceFolder}/x", variables), "${workspaceFolder}/x");
});
