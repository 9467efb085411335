/** The Python extension, where it is installed: which interpreter the user selected in it. */

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

/** Return true where the Python extension is installed. */
export function isInstalled(): boolean {
  return extensions.getExtension(ID) !== undefined;
}

/** Let the user select an interpreter: in the Python extension, else in the settings. */
export async function selectInterpreter(): Promise<void> {
  await (isInstalled()
    ? commands.executeCommand("python.setInterpreter")
    : commands.executeCommand("workbench.action.openSettings", "redraft.server.python"));
}

/** Return the selected interpreter's path; undefined where none is, or the extension is broken. */
export async function getSelectedInterpreter(): Promise<string | undefined> {
  const environments = (await activate())?.environments;
  const folder = workspace.workspaceFolders?.[0]?.uri;
  try {
    const active = environments?.getActiveEnvironmentPath(folder);
    return active && (await environments?.resolveEnvironment(active))?.executable.uri?.fsPath;
  } catch {
    return undefined;
  }
}

/** Call `listener` when the user selects another interpreter. */
export function onDidSelectInterpreter(listener: () => unknown): Disposable | undefined {
  const extension = extensions.getExtension<PythonApi | undefined>(ID);
  // Before it is active it gave us no interpreter, so there is none to change.
  return extension?.isActive
    ? extension.exports?.environments.onDidChangeActiveEnvironmentPath(listener)
    : undefined;
}

/** Return the extension's API; undefined where it is missing, broken, or does not start in time. */
async function activate(): Promise<PythonApi | undefined> {
  const extension = extensions.getExtension<PythonApi | undefined>(ID);
  if (extension === undefined) {
    return undefined;
  }
  const timeout = new Promise<undefined>((resolve) =>
    setTimeout(resolve, ACTIVATION_MS, undefined),
  );
  const exports = await Promise.race([
    Promise.resolve(extension.activate()).catch(() => undefined),
    timeout,
  ]);
  return exports?.environments === undefined ? undefined : exports;
}
