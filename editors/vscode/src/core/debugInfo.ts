/** The debug information: what a report of a problem needs, and nothing of the user's code. */

import type { Status } from "../protocol";
import type { SearchResult } from "./discovery";
import type { ServerPhase } from "./statusText";

export interface DebugInfo {
  readonly extension: string; // its version
  readonly vscode: string; // its version
  readonly platform: string;
  readonly remote: string;
  readonly isTrusted: boolean;
  readonly phase: ServerPhase;
  readonly searchResult: SearchResult | undefined;
  readonly status: Status | undefined;
  readonly settings: Readonly<Record<string, unknown>>; // those that are not the default
}

/** Return `info` in Markdown, to be pasted into a report. */
export function renderDebugInfo(info: DebugInfo): string {
  const { searchResult, status } = info;
  const launch = searchResult?.kind === "found" ? searchResult.launch : undefined;
  const nPrefilled = Object.keys(status?.warm ?? {}).length;
  const lines = [
    ["extension", info.extension],
    ["VS Code", `${info.vscode}, ${info.platform}, ${info.remote}`],
    ["workspace", info.isTrusted ? "trusted" : "not trusted"],
    ["server", `${info.phase}${status ? `, version ${status.version}` : ""}`],
    ["command", launch ? `\`${[launch.command, ...launch.args].join(" ")} serve\`` : "none"],
    ["model", status ? `${status.model.name}, ${status.model.state}` : "unknown"],
    ["edits", status ? `${status.edits.length} under way, ${status.waiting} waiting` : "unknown"],
    ["documents", status ? `${status.documents}, ${nPrefilled} prefilled` : "unknown"],
  ].map(([name, value]) => `- ${name}: ${value}`);
  const trail = (searchResult?.trail ?? []).map((step) => `- ${step}`);
  return [
    "# redraft",
    lines.join("\n"),
    "## Looking for the server",
    trail.join("\n") || "- not yet",
    "## Settings",
    `\`\`\`json\n${JSON.stringify(info.settings, undefined, 2)}\n\`\`\``,
    "`redraft doctor` in a terminal says more about the model and the engine.\n",
  ].join("\n\n");
}
