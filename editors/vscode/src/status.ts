/** The status item, and the menu behind it. */

import {
  type Disposable,
  type QuickPickItem,
  StatusBarAlignment,
  ThemeColor,
  commands,
  window,
} from "vscode";
import { type StatusState, buildStatusText, getModelName } from "./core/statusText";
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
    const update = (): void => {
      this.update();
    };
    this.listeners = [server, edits, previews].map(({ onDidChange }) => onDidChange(update));
    this.item.name = "redraft";
    this.item.command = "redraft.menu";
    this.update();
    this.item.show();
  }

  /** Offer what can be done now, the likeliest first, and do what the user picks. */
  async showMenu(): Promise<void> {
    const { status, speed, previews } = this.state;
    const model = status && `${getModelName(status)}, ${status.model.state}`;
    const chosen = await window.showQuickPick<MenuItem>(
      [
        ...(speed === undefined ? [] : [createItem("$(debug-stop) Cancel", "redraft.cancelEdit")]),
        ...(previews > 0 ? REVIEW_ITEMS : []),
        ...GENERAL_ITEMS,
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

  private get state(): StatusState {
    const { phase, status } = this.server;
    const previews = this.previews.count;
    return { phase, status, speed: this.edits.speed, previews };
  }

  private update(): void {
    const { text, tooltip, isWarning } = buildStatusText(this.state);
    this.item.text = text;
    this.item.tooltip = tooltip;
    this.item.backgroundColor = isWarning ? WARNING : undefined;
    void commands.executeCommand("setContext", "redraft.busy", this.edits.speed !== undefined);
  }
}

interface MenuItem extends QuickPickItem {
  readonly command: string;
  readonly arguments: readonly string[];
}

function createItem(label: string, command: string, ...args: readonly string[]): MenuItem {
  return { label, command, arguments: args };
}

const REVIEW_ITEMS: readonly MenuItem[] = [
  createItem("$(check) Accept Change", "redraft.accept"),
  createItem("$(close) Reject Change", "redraft.reject"),
  createItem("$(diff) Show Change", "redraft.showDiff"),
  createItem("$(refresh) Retry with Another Instruction...", "redraft.retry"),
];

const GENERAL_ITEMS: readonly MenuItem[] = [
  createItem("$(pencil) Edit Function or Selection...", "redraft.editCode"),
  createItem("$(file) Edit File...", "redraft.editFile"),
  createItem("$(lightbulb) Fix Problem", "redraft.fixProblem"),
  createItem("$(pulse) Show Trace of the Last Edit", "redraft.showLastTrace"),
  createItem("$(cloud-download) Download Model", "redraft.downloadModel"),
  createItem("$(debug-restart) Restart Server", "redraft.restartServer"),
  createItem("$(output) Show Log", "redraft.showLog"),
  createItem("$(info) Debug Information", "redraft.debugInformation"),
  createItem("$(gear) Settings", "workbench.action.openSettings", "@ext:redraft.redraft"),
];
