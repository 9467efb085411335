/** The debug information: what a report of a problem needs, and nothing of the user's code. */

import type { Status } from "../protocol";
import type { Found } from "./discovery";
import type { Phase } from "./statusText";

export interface Facts {
  readonly extension: string; // versions
  readonly vscode: string;
  readonly platform: string;
  readonly remote: string;
  readonly isTrusted: boolean;
  readonly phase: Phase;
  readonly found: Found | undefined;
  readonly status: Status | undefined;
  readonly settings: Readonly<Record<string, unknown>>; // those that are not the default
}

/** `facts` in Markdown, to be pasted into a report. */
export function report(facts: Facts): string {
  const { found, status } = facts;
  const command =
    found?.kind === "found" ? [found.launch.command, ...found.launch.args] : undefined;
  const lines = [
    ["extension", facts.extension],
    ["VS Code", `${facts.vscode}, ${facts.platform}, ${facts.remote}`],
    ["workspace", facts.isTrusted ? "trusted" : "not trusted"],
    ["server", `${facts.phase}${status ? `, version ${status.version}` : ""}`],
    ["command", command ? `\`${command.join(" ")} serve\`` : "none"],
    ["model", status ? `${status.model.name}, ${status.model.state}` : "unknown"],
    ["edits", status ? `${status.edits.length} under way, ${status.waiting} waiting` : "unknown"],
    ["documents", status ? `${status.documents}, ${warm(status)} prefilled` : "unknown"],
  ].map(([name, value]) => `- ${name}: ${value}`);
  const trail = (found?.trail ?? []).map((step) => `- ${step}`);
  return [
    "# redraft",
    lines.join("\n"),
    "## Looking for the server",
    trail.join("\n") || "- not yet",
    "## Settings",
    `\`\`\`json\n${JSON.stringify(facts.settings, undefined, 2)}\n\`\`\``,
    "`redraft doctor` in a terminal says more about the model and the engine.\n",
  ].join("\n\n");
}

function warm(status: Status): number {
  return Object.keys(status.warm).length;
}
