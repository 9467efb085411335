/** The machine we run on, for the search for the server: its files and interpreters. */

import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, isAbsolute } from "node:path";
import type { Machine, ProbeResult } from "./core/discovery";

const PROBE_CODE = "import importlib.util as u, sys; sys.exit(0 if u.find_spec('redraft') else 3)";
const PROBE_MS = 20_000; // a first start from a slow disk

/** Return this machine. Interpreters run in `folder`, which must hold no Python module. */
export function createMachine(folder: string): Machine {
  return {
    platform: process.platform,
    // A relative entry would name a file of whatever folder is current.
    searchPath: (process.env["PATH"] ?? "").split(delimiter).filter((entry) => isAbsolute(entry)),
    isProgram,
    probe: (interpreter) => probe(interpreter, folder),
  };
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

function probe(interpreter: string, folder: string): Promise<ProbeResult> {
  return new Promise((resolve) => {
    const options = { cwd: folder, timeout: PROBE_MS, windowsHide: true };
    execFile(interpreter, ["-c", PROBE_CODE], options, (error) => {
      resolve(error === null ? "has redraft" : error.code === 3 ? "lacks redraft" : "does not run");
    });
  });
}
