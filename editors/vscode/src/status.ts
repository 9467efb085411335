/** The status item, and the menu behind it. */

import {
  type Disposable,
  type QuickPickItem,
  StatusBarAlignment,
  ThemeColor,
  commands,
  window,
} from "vscode";
import { type State, look, modelName } from "./core/statusText";
import type { Edits } from "./edits";
import type { Previews } from "./previews";
import type { Server } from "./server";

const WARNING = new ThemeColor("statusBarItem.warningBackground");

export class StatusItem implements Disposable {
  private readonly item = window.createStatusBarItem("redraft", StatusBarAlignment.Right, 100);
  private readonly listeners: Disposable[];

  constructor(
    private readonly server: Server,
    private readonly edits: Edits,
    private readonly previews: Previews,
  ) {
    const show = (): void => {
      this.show();
    };
    this.listeners = [server, edits, previews].map(({ onDidChange }) => onDidChange(show));
    this.item.name = "redraft";
    this.item.command = "redraft.menu";
    this.show();
    this.item.show();
  }

  /** What can be done now, the likeliest first. */
  async menu(): Promise<void> {
    const { status, speed, previews } = this.state;
    const model = status && `${modelName(status)}, ${status.model.state}`;
    const chosen = await window.showQuickPick<Item>(
      [
        ...(speed === undefined ? [] : [item("$(debug-stop) Cancel", "redraft.cancelEdit")]),
        ...(previews > 0 ? REVIEW : []),
        ...GENERAL,
      ],
      { title: "redraft", placeHolder: model ?? "the server is not running" },
    );
    await (chosen && commands.executeCommand(chosen.command, ...chosen.arguments));
  }

  dispose(): void {
    this.item.dispose();
    for (const listener of this.listeners) {
      listener.dispose();
    }
  }

  private get state(): State {
    const { phase, status } = this.server;
    const previews = this.previews.count;
    return { phase, status, speed: this.edits.speed, previews };
  }

  private show(): void {
    const { text, tooltip, isWarning } = look(this.state);
    this.item.text = text;
    this.item.tooltip = tooltip;
    this.item.backgroundColor = isWarning ? WARNING : undefined;
    void commands.executeCommand("setContext", "redraft.busy", this.edits.speed !== undefined);
  }
}

interface Item extends QuickPickItem {
  readonly command: string;
  readonly arguments: readonly string[];
}

function item(label: string, command: string, ...more: readonly string[]): Item {
  return { label, command, arguments: more };
}

const REVIEW: readonly Item[] = [
  item("$(check) Accept Change", "redraft.accept"),
  item("$(close) Reject Change", "redraft.reject"),
  item("$(diff) Show Change", "redraft.showDiff"),
  item("$(refresh) Retry with Another Instruction...", "redraft.retry"),
];

const GENERAL: readonly Item[] = [
  item("$(pencil) Edit Function or Selection...", "redraft.editCode"),
  item("$(file) Edit File...", "redraft.editFile"),
  item("$(lightbulb) Fix Problem", "redraft.fixProblem"),
  item("$(pulse) Show Trace of the Last Edit", "redraft.showLastTrace"),
  item("$(cloud-download) Download Model", "redraft.downloadModel"),
  item("$(debug-restart) Restart Server", "redraft.restartServer"),
  item("$(output) Show Log", "redraft.showLog"),
  item("$(info) Debug Information", "redraft.debugInformation"),
  item("$(gear) Settings", "workbench.action.openSettings", "@ext:redraft.redraft"),
];
