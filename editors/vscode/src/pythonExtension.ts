/** The interpreter that the user selected in the Python extension, where that is installed. */

import { type Disposable, type Event, type Uri, commands, extensions, workspace } from "vscode";

const ID = "ms-python.python";
const ACTIVATION_MS = 15_000;

/** The part of the Python extension's API that is used here. */
interface PythonApi {
  readonly environments: {
    getActiveEnvironmentPath(resource?: Uri): { readonly path: string };
    resolveEnvironment(environment: {
      readonly path: string;
    }): Promise<{ readonly executable: { readonly uri?: Uri } } | undefined>;
    readonly onDidChangeActiveEnvironmentPath: Event<unknown>;
  };
}

/** Whether the Python extension is there to ask. */
export function isInstalled(): boolean {
  return extensions.getExtension(ID) !== undefined;
}

/** Let the user select an interpreter, in whatever way there is. */
export async function select(): Promise<void> {
  await (isInstalled()
    ? commands.executeCommand("python.setInterpreter")
    : commands.executeCommand("workbench.action.openSettings", "redraft.server.python"));
}

/** The selected interpreter's path; undefined where there is none, or the extension is broken. */
export async function selected(): Promise<string | undefined> {
  const environments = (await api())?.environments;
  const folder = workspace.workspaceFolders?.[0]?.uri;
  try {
    const active = environments?.getActiveEnvironmentPath(folder);
    return active && (await environments?.resolveEnvironment(active))?.executable.uri?.fsPath;
  } catch {
    return undefined;
  }
}

/** Call `changed` when the user selects another interpreter. */
export function onDidSelect(changed: () => unknown): Disposable | undefined {
  const extension = extensions.getExtension<PythonApi | undefined>(ID);
  // One that nobody started yet was not asked for the interpreter either.
  return extension?.isActive
    ? extension.exports?.environments.onDidChangeActiveEnvironmentPath(changed)
    : undefined;
}

/** The extension's API; undefined where it is not installed, broken, or does not start in time. */
async function api(): Promise<PythonApi | undefined> {
  const extension = extensions.getExtension<PythonApi | undefined>(ID);
  if (extension === undefined) {
    return undefined;
  }
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, ACTIVATION_MS, undefined));
  const exports = await Promise.race([
    Promise.resolve(extension.activate()).catch(() => undefined),
    late,
  ]);
  return exports?.environments === undefined ? undefined : exports;
}
