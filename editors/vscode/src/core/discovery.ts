/**
 * The search for the server: settings first, then interpreters, then the PATH.
 *
 * A setting that names something wrong is an error, not a reason to look elsewhere. Code of a
 * workspace that is not trusted is never run: neither its .venv nor an interpreter chosen there.
 * Knows nothing of VS Code and touches no file itself: `Machine` does.
 */

import { posix, win32 } from "node:path";
import { type Button, type Notice, createNotice } from "./notices";

/** The command that runs redraft; `serve` is appended to `args` to start the server. */
export interface LaunchCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/** What running an interpreter showed. */
export type ProbeResult = "has redraft" | "lacks redraft" | "does not run";

/** What the search needs to know of the machine. Paths are absolute. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly searchPath: readonly string[];
  isProgram(path: string): Promise<boolean>;
  probe(interpreter: string): Promise<ProbeResult>;
}

/** What user and workspace say of the server. Settings are expanded, "" where they are not set. */
export interface ServerConfig {
  readonly path: string; // redraft.server.path
  readonly python: string; // redraft.server.python
  readonly isTrusted: boolean;
  readonly folders: readonly string[];
  /** Return the Python extension's interpreter; undefined where there is none. */
  getSelectedInterpreter(): Promise<string | undefined>;
}

/** `trail` says what was looked at, in order, and what was wrong with it. */
export type SearchResult =
  | { readonly kind: "found"; readonly launch: LaunchCommand; readonly trail: readonly string[] }
  | MissingServer;

/** `setting` names the setting that is wrong, where one is. */
export interface MissingServer {
  readonly kind: "missing";
  readonly trail: readonly string[];
  readonly setting?: string;
}

/** Search for the server. */
export async function findServer(config: ServerConfig, machine: Machine): Promise<SearchResult> {
  if (config.path !== "") {
    return findByPathSetting("redraft.server.path", config.path, machine);
  }
  if (config.python !== "") {
    return findByPythonSetting("redraft.server.python", config.python, machine);
  }
  const trail: string[] = [];
  for (const { description, interpreter } of await listCandidates(config, machine)) {
    const result = interpreter === undefined ? "there is none" : await machine.probe(interpreter);
    trail.push(`${description}: ${PROBE_TEXTS[result]}`);
    if (interpreter !== undefined && result === "has redraft") {
      return { kind: "found", launch: runAsModule(interpreter), trail };
    }
  }
  const program = await findOnPath(
    machine.platform === "win32" ? "redraft.exe" : "redraft",
    machine,
  );
  if (program !== undefined) {
    trail.push(`the PATH: ${program}`);
    return { kind: "found", launch: { command: program, args: [] }, trail };
  }
  return { kind: "missing", trail: [...trail, "the PATH: there is no redraft on it"] };
}

/** Return what to tell a user whose server was not found. */
export function createMissingServerNotice(
  { trail, setting }: MissingServer,
  { isTrusted, hasPython }: { readonly isTrusted: boolean; readonly hasPython: boolean },
): Notice {
  const steps = trail.join("; ");
  if (setting !== undefined) {
    return createNotice("error", `${steps}.`, ["settings", "install"], setting);
  }
  const trustNote = isTrusted
    ? ""
    : " In a workspace that is not trusted, only the PATH is searched.";
  const buttons: Button[] = hasPython
    ? ["install", "interpreter", "settings"]
    : ["install", "settings"];
  const text = `the server was not found. Looked at ${steps}.${trustNote}`;
  return createNotice("error", text, buttons, "redraft.server");
}

const PROBE_TEXTS: Readonly<Record<ProbeResult | "there is none", string>> = {
  "there is none": "there is none",
  "has redraft": "has redraft",
  "lacks redraft": "redraft is not installed there",
  "does not run": "it does not run",
};

async function findByPathSetting(
  setting: string,
  value: string,
  machine: Machine,
): Promise<SearchResult> {
  const { program, problem } = await resolveProgram(value, machine);
  return program !== undefined
    ? { kind: "found", launch: { command: program, args: [] }, trail: [`${setting}: ${program}`] }
    : { kind: "missing", setting, trail: [`${setting} names ${value}, which is ${problem}`] };
}

async function findByPythonSetting(
  setting: string,
  value: string,
  machine: Machine,
): Promise<SearchResult> {
  const { program, problem } = await resolveProgram(value, machine);
  if (program === undefined) {
    return { kind: "missing", setting, trail: [`${setting} names ${value}, which is ${problem}`] };
  }
  const result = await machine.probe(program);
  return result === "has redraft"
    ? { kind: "found", launch: runAsModule(program), trail: [`${setting}: ${program}`] }
    : { kind: "missing", setting, trail: [`${setting} names ${program}: ${PROBE_TEXTS[result]}`] };
}

/**
 * Return the program that a setting names by its full path, or by a name on the PATH.
 *
 * A relative path is refused: the current folder could be anybody's, and so would the program be.
 */
async function resolveProgram(
  value: string,
  machine: Machine,
): Promise<{ program: string | undefined; problem: string }> {
  if (getPathModule(machine).isAbsolute(value)) {
    const program = (await machine.isProgram(value)) ? value : undefined;
    return { program, problem: "no program" };
  }
  return /[\\/]/.test(value)
    ? { program: undefined, problem: "no full path" }
    : { program: await findOnPath(value, machine), problem: "not on the PATH" };
}

async function findOnPath(name: string, machine: Machine): Promise<string | undefined> {
  for (const folder of machine.searchPath) {
    const program = getPathModule(machine).join(folder, name);
    if (await machine.isProgram(program)) {
      return program;
    }
  }
  return undefined;
}

/** A place where an interpreter may be, and the one that is there. */
interface Candidate {
  readonly description: string;
  readonly interpreter: string | undefined;
}

async function listCandidates(config: ServerConfig, machine: Machine): Promise<Candidate[]> {
  if (!config.isTrusted) {
    return [];
  }
  const selected = await config.getSelectedInterpreter();
  const path = selected ? `, ${selected}` : "";
  const description = `the interpreter selected in the Python extension${path}`;
  const candidates: Candidate[] = [{ description, interpreter: selected }];
  const inVenv = machine.platform === "win32" ? ["Scripts", "python.exe"] : ["bin", "python"];
  for (const folder of config.folders) {
    const path = getPathModule(machine).join(folder, ".venv", ...inVenv);
    if (path !== selected) {
      const interpreter = (await machine.isProgram(path)) ? path : undefined;
      candidates.push({ description: path, interpreter });
    }
  }
  return candidates;
}

function runAsModule(interpreter: string): LaunchCommand {
  return { command: interpreter, args: ["-m", "redraft"] };
}

/** Return the rules for paths of `machine`, which in tests is not the one we run on. */
function getPathModule({ platform }: Machine): typeof posix {
  return platform === "win32" ? win32 : posix;
}

/** The values of the variables that a path setting may hold. */
export interface PathVariables {
  readonly home: string;
  readonly folder: string | undefined; // the workspace's first
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Return a path setting with ~, ${userHome}, ${workspaceFolder} and ${env:NAME} replaced. */
export function expandPath(path: string, { home, folder, environment }: PathVariables): string {
  // Functions, not strings: "$&" in a value is no pattern then.
  return path
    .trim()
    .replace(/^~(?=$|[\\/])/, () => home)
    .replace(/\$\{userHome\}/g, () => home)
    .replace(/\$\{workspaceFolder\}/g, (name) => folder ?? name)
    .replace(/\$\{env:(\w+)\}/g, (_, name: string) => environment[name] ?? "");
}
