/**
 * Where the server is: pure decisions about what was found.
 *
 * A setting that names something wrong is an error, not a reason to look elsewhere. Code of a
 * workspace that is not trusted is never run: neither its .venv nor an interpreter chosen there.
 */

import { posix, win32 } from "node:path";
import type { Button, Notice } from "./notices";
import { notice } from "./notices";

/** How the server is started. `serve` is appended to `args`. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
}

/** What a look at an interpreter gave. */
export type Probe = "has redraft" | "lacks redraft" | "does not run";

/** The machine, as far as the search asks. Paths are absolute. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly searchPath: readonly string[];
  isProgram(path: string): Promise<boolean>;
  probe(interpreter: string): Promise<Probe>;
}

/** What the user and the workspace say. Settings are expanded, "" where they are not set. */
export interface Wishes {
  readonly path: string;
  readonly python: string;
  readonly isTrusted: boolean;
  readonly folders: readonly string[];
  /** The Python extension's interpreter; undefined where there is none. */
  selected(): Promise<string | undefined>;
}

/** `trail` tells what was looked at, in order, and what was wrong with it. */
export type Found =
  | { readonly kind: "found"; readonly launch: Launch; readonly trail: readonly string[] }
  | { readonly kind: "missing"; readonly trail: readonly string[]; readonly setting?: string };

/** Search for the server. */
export async function find(wishes: Wishes, machine: Machine): Promise<Found> {
  if (wishes.path !== "") {
    return named("redraft.server.path", wishes.path, machine);
  }
  if (wishes.python !== "") {
    return interpreted("redraft.server.python", wishes.python, machine);
  }
  const trail: string[] = [];
  for (const { place, interpreter } of await environments(wishes, machine)) {
    const probe = interpreter === undefined ? "there is none" : await machine.probe(interpreter);
    trail.push(`${place}: ${SAID[probe]}`);
    if (interpreter !== undefined && probe === "has redraft") {
      return { kind: "found", launch: byPython(interpreter), trail };
    }
  }
  const program = await onPath(machine.platform === "win32" ? "redraft.exe" : "redraft", machine);
  if (program !== undefined) {
    trail.push(`the PATH: ${program}`);
    return { kind: "found", launch: { command: program, args: [] }, trail };
  }
  return { kind: "missing", trail: [...trail, "the PATH: there is no redraft on it"] };
}

/** What to tell a user whose server was not found. */
export function missing(
  found: Found & { kind: "missing" },
  { isTrusted, hasPython }: { readonly isTrusted: boolean; readonly hasPython: boolean },
): Notice {
  const looked = found.trail.join("; ");
  if (found.setting !== undefined) {
    return notice("error", `${looked}.`, ["settings", "install"], found.setting);
  }
  const distrust = isTrusted
    ? ""
    : " In a workspace that is not trusted, only the PATH is searched.";
  const buttons: Button[] = hasPython
    ? ["install", "interpreter", "settings"]
    : ["install", "settings"];
  const text = `the server was not found. Looked at ${looked}.${distrust}`;
  return notice("error", text, buttons, "redraft.server");
}

const SAID: Readonly<Record<Probe | "there is none", string>> = {
  "there is none": "there is none",
  "has redraft": "has redraft",
  "lacks redraft": "redraft is not installed there",
  "does not run": "it does not run",
};

async function named(setting: string, wish: string, machine: Machine): Promise<Found> {
  const { program, trouble } = await resolved(wish, machine);
  return program !== undefined
    ? { kind: "found", launch: { command: program, args: [] }, trail: [`${setting}: ${program}`] }
    : { kind: "missing", setting, trail: [`${setting} names ${wish}, which is ${trouble}`] };
}

async function interpreted(setting: string, wish: string, machine: Machine): Promise<Found> {
  const { program, trouble } = await resolved(wish, machine);
  if (program === undefined) {
    return { kind: "missing", setting, trail: [`${setting} names ${wish}, which is ${trouble}`] };
  }
  const probe = await machine.probe(program);
  return probe === "has redraft"
    ? { kind: "found", launch: byPython(program), trail: [`${setting}: ${program}`] }
    : { kind: "missing", setting, trail: [`${setting} names ${program}: ${SAID[probe]}`] };
}

/** A full path, or a name on the PATH: a path from some current folder could be anybody's. */
async function resolved(
  wish: string,
  machine: Machine,
): Promise<{ program: string | undefined; trouble: string }> {
  if (pathsOf(machine).isAbsolute(wish)) {
    const program = (await machine.isProgram(wish)) ? wish : undefined;
    return { program, trouble: "no program" };
  }
  return /[\\/]/.test(wish)
    ? { program: undefined, trouble: "no full path" }
    : { program: await onPath(wish, machine), trouble: "not on the PATH" };
}

async function onPath(name: string, machine: Machine): Promise<string | undefined> {
  for (const folder of machine.searchPath) {
    const program = pathsOf(machine).join(folder, name);
    if (await machine.isProgram(program)) {
      return program;
    }
  }
  return undefined;
}

/** A place to look for an interpreter, and the one that is there. */
interface Environment {
  readonly place: string;
  readonly interpreter: string | undefined;
}

async function environments(wishes: Wishes, machine: Machine): Promise<Environment[]> {
  if (!wishes.isTrusted) {
    return [];
  }
  const selected = await wishes.selected();
  const place = `the interpreter selected in the Python extension${selected ? `, ${selected}` : ""}`;
  const found: Environment[] = [{ place, interpreter: selected }];
  const inside = machine.platform === "win32" ? ["Scripts", "python.exe"] : ["bin", "python"];
  for (const folder of wishes.folders) {
    const path = pathsOf(machine).join(folder, ".venv", ...inside);
    if (path !== selected) {
      const interpreter = (await machine.isProgram(path)) ? path : undefined;
      found.push({ place: path, interpreter });
    }
  }
  return found;
}

function byPython(interpreter: string): Launch {
  return { command: interpreter, args: ["-m", "redraft"] };
}

function pathsOf({ platform }: Machine): typeof posix {
  return platform === "win32" ? win32 : posix;
}

/** What may stand in a path setting. */
export interface Variables {
  readonly home: string;
  readonly folder: string | undefined; // the workspace's first
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** A path setting with ~, ${userHome}, ${workspaceFolder} and ${env:NAME} replaced. */
export function expand(path: string, { home, folder, environment }: Variables): string {
  return path
    .trim()
    .replace(/^~(?=$|[\\/])/, () => home)
    .replace(/\$\{userHome\}/g, () => home)
    .replace(/\$\{workspaceFolder\}/g, (name) => folder ?? name)
    .replace(/\$\{env:(\w+)\}/g, (_, name: string) => environment[name] ?? "");
}
