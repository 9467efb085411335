/** Commands for looking deeper: debug information, the last edit's trace, the model's download. */

import { type ExtensionContext, type Terminal, env, version, window, workspace } from "vscode";
import { renderDebugInfo } from "./core/debugInfo";
import { MODEL_IS_HERE } from "./core/notices";
import { renderTrace } from "./core/trace";
import { showNotice } from "./notify";
import { SHOW_TRACE, STATUS, type Status, type Trace } from "./protocol";
import type { Reports } from "./reports";
import type { Server } from "./server";

/** Show what a report of a problem needs. */
export async function showDebugInfo(
  { extension }: ExtensionContext,
  server: Server,
  reports: Reports,
): Promise<void> {
  const text = renderDebugInfo({
    extension: (extension.packageJSON as { version: string }).version,
    vscode: version,
    platform: `${process.platform} ${process.arch}`,
    remote: env.remoteName ?? "local",
    isTrusted: workspace.isTrusted,
    phase: server.phase,
    searchResult: server.searchResult,
    status: server.phase === "running" ? await server.execute<Status>(STATUS) : undefined,
    settings: readChangedSettings(extension.packageJSON),
  });
  await reports.show("redraft.md", { text, marks: [] }, "markdown");
}

/** Show how the last edits ended, and which parts of the last answer were drafted. */
export async function showTrace(server: Server, reports: Reports): Promise<void> {
  const trace = await server.execute<Trace>(SHOW_TRACE);
  await reports.show("trace of the last edit", renderTrace(trace), "plaintext");
}

/** Download the model that the settings name, in a terminal that shows how far it is. */
export async function downloadModel(server: Server): Promise<void> {
  await server.whenSettled();
  if (server.searchResult?.kind !== "found") {
    server.showProblem();
    return;
  }
  const { command, args } = server.searchResult.launch;
  const model = workspace.getConfiguration("redraft").get<string>("model", "");
  const terminal = window.createTerminal({
    name: "redraft: download",
    shellPath: command,
    shellArgs: [...args, "models", "fetch", ...(model === "" ? [] : [model])],
    cwd: server.home,
    isTransient: true,
  });
  terminal.show();
  if ((await waitForExitCode(terminal)) === 0) {
    void showNotice(MODEL_IS_HERE);
  }
}

function waitForExitCode(terminal: Terminal): Promise<number | undefined> {
  return new Promise((resolve) => {
    const listener = window.onDidCloseTerminal((closed) => {
      if (closed === terminal) {
        listener.dispose();
        resolve(closed.exitStatus?.code);
      }
    });
  });
}

/** Return the settings that differ from their default; `packageJSON` names them all. */
function readChangedSettings(packageJSON: unknown): Record<string, unknown> {
  const { contributes } = packageJSON as {
    contributes: { configuration: { properties: Record<string, unknown> }[] };
  };
  const names = contributes.configuration.flatMap(({ properties }) => Object.keys(properties));
  const all = workspace.getConfiguration();
  const changed = names.filter((name) => {
    const { globalValue, workspaceValue, workspaceFolderValue } = all.inspect(name) ?? {};
    return [globalValue, workspaceValue, workspaceFolderValue].some((value) => value !== undefined);
  });
  return Object.fromEntries(changed.map((name) => [name, all.get(name)]));
}
