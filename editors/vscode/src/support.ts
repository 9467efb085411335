/** Looking under the hood: debug information, the trace of the last edit, the model's download. */

import { type ExtensionContext, type Terminal, env, version, window, workspace } from "vscode";
import { report } from "./core/debugInfo";
import { MODEL_IS_HERE } from "./core/notices";
import { render } from "./core/trace";
import { tell } from "./notify";
import { SHOW_TRACE, STATUS, type Status, type Trace } from "./protocol";
import type { Reports } from "./reports";
import type { Server } from "./server";

/** Show what a report of a problem needs. */
export async function debugInformation(
  { extension }: ExtensionContext,
  server: Server,
  reports: Reports,
): Promise<void> {
  const text = report({
    extension: (extension.packageJSON as { version: string }).version,
    vscode: version,
    platform: `${process.platform} ${process.arch}`,
    remote: env.remoteName ?? "local",
    isTrusted: workspace.isTrusted,
    phase: server.phase,
    found: server.found,
    status: await statusOf(server),
    settings: changedSettings(extension.packageJSON),
  });
  await reports.show("redraft.md", { text, marks: [] }, "markdown");
}

async function statusOf(server: Server): Promise<Status | undefined> {
  return server.phase === "running" ? server.execute<Status>(STATUS) : undefined;
}

/** Show how the last edits ended, and how the last answer came about. */
export async function showTrace(server: Server, reports: Reports): Promise<void> {
  const trace = await server.execute<Trace>(SHOW_TRACE);
  await reports.show("trace of the last edit", render(trace), "plaintext");
}

/** Fetch the model that the settings name, in a terminal that shows how far it is. */
export async function downloadModel(server: Server): Promise<void> {
  await server.settled();
  if (server.found?.kind !== "found") {
    server.tellTrouble();
    return;
  }
  const { command, args } = server.found.launch;
  const model = workspace.getConfiguration("redraft").get<string>("model", "");
  const terminal = window.createTerminal({
    name: "redraft: download",
    shellPath: command,
    shellArgs: [...args, "models", "fetch", ...(model === "" ? [] : [model])],
    cwd: server.home,
    isTransient: true,
  });
  terminal.show();
  if ((await exitCode(terminal)) === 0) {
    void tell(MODEL_IS_HERE);
  }
}

function exitCode(terminal: Terminal): Promise<number | undefined> {
  return new Promise((resolve) => {
    const listener = window.onDidCloseTerminal((closed) => {
      if (closed === terminal) {
        listener.dispose();
        resolve(closed.exitStatus?.code);
      }
    });
  });
}

/** The extension's settings that somebody changed; `packageJSON` names them all. */
function changedSettings(packageJSON: unknown): Record<string, unknown> {
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
