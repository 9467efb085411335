/** The extension's parts put together, and which command is whose. */

import { type Disposable, type ExtensionContext, Uri, commands, window, workspace } from "vscode";
import { Asks } from "./editRequests";
import { Commands, KINDS } from "./commands";
import { NO_PREVIEW, REJECTED, failed, failureOf } from "./core/notices";
import { Edits } from "./edits";
import { tell } from "./notify";
import { type Preview, Previews } from "./previews";
import { Prompt } from "./prompt";
import { PROMPT, type PromptParams } from "./protocol";
import * as python from "./pythonExtension";
import { Reports } from "./reports";
import * as review from "./review";
import { NotReady, Server } from "./server";
import { StatusItem } from "./status";
import * as support from "./support";

const TOLD = "redraft.toldMissing"; // in the global state: the user knows that there is no server

export class Session implements Disposable {
  private readonly log = window.createOutputChannel("redraft");
  private readonly server: Server;
  private readonly asks = new Asks();
  private readonly previews = new Previews();
  private readonly edits: Edits;
  private readonly prompt: Prompt;
  private readonly actions: Commands;
  private readonly status: StatusItem;
  private readonly reports = new Reports();
  private readonly registered: Disposable[] = [];

  constructor(private readonly context: ExtensionContext) {
    this.server = new Server(context.extensionPath, this.log, {
      edit: (params) => void this.guarded(() => this.actions.fromAction(params)),
      partial: (partial) => {
        this.edits.heard(partial);
      },
    });
    this.edits = new Edits(this.server, this.asks, this.previews, (ask) => this.actions.retry(ask));
    this.prompt = new Prompt(context.globalState);
    this.actions = new Commands(this.server, this.asks, this.edits, this.prompt);
    this.status = new StatusItem(this.server, this.edits, this.previews);
    this.register(this.commands());
    this.listen();
  }

  /** Find and start the server. That there is none is told once, and then with each command. */
  async start(): Promise<void> {
    await this.server.restart();
    const isMissing = this.server.phase === "missing";
    if (isMissing && !this.context.globalState.get<boolean>(TOLD, false)) {
      this.server.tellTrouble();
    }
    await this.context.globalState.update(TOLD, isMissing);
    const listener = python.onDidSelect(() => this.server.reconsider());
    this.registered.push(...(listener ? [listener] : []));
  }

  async stop(): Promise<void> {
    await this.server.stop();
  }

  dispose(): void {
    const parts = [this.status, this.prompt, this.edits, this.previews, this.asks, this.reports];
    for (const each of [...this.registered, ...parts, this.server, this.log]) {
      each.dispose();
    }
  }

  private commands(): Record<string, (given?: unknown) => unknown> {
    const { actions, server, previews, edits } = this;
    return {
      ...Object.fromEntries(
        Object.entries(KINDS).map(([name, kind]) => [
          `redraft.${name}`,
          (given: unknown) => actions.edit(kind, given),
        ]),
      ),
      "redraft.fixProblem": () => actions.fixProblem(),
      [PROMPT]: (given) => actions.fromPrompt(given as PromptParams),
      "redraft.accept": this.onPreview((preview) => review.accept(preview, previews, edits)),
      "redraft.reject": this.onPreview((preview) => review.reject(preview, previews, edits)),
      "redraft.showDiff": this.onPreview((preview) => previews.reveal(preview)),
      "redraft.retry": (given) => this.retry(uriIn(given)),
      "redraft.cancelEdit": () => {
        edits.cancel();
      },
      "redraft.restartServer": () => server.restart(),
      "redraft.showLog": () => {
        this.log.show();
      },
      "redraft.debugInformation": () =>
        support.debugInformation(this.context, server, this.reports),
      "redraft.showLastTrace": () => support.showTrace(server, this.reports),
      "redraft.downloadModel": () => support.downloadModel(server),
      "redraft.selectInterpreter": () => python.select(),
      "redraft.install": () =>
        commands.executeCommand("workbench.action.openWalkthrough", "redraft.redraft#start", false),
      "redraft.menu": () => this.status.menu(),
    };
  }

  private register(handlers: Record<string, (given?: unknown) => unknown>): void {
    for (const [name, handler] of Object.entries(handlers)) {
      const guarded = (given?: unknown): unknown => this.guarded(() => handler(given));
      this.registered.push(commands.registerCommand(name, guarded));
    }
  }

  private listen(): void {
    this.registered.push(
      workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("redraft.server")) {
          void this.server.restart();
        }
      }),
      workspace.onDidGrantWorkspaceTrust(() => this.server.restart()),
      workspace.onDidChangeWorkspaceFolders(() => this.server.reconsider()),
      this.previews.onDidCloseTab(({ ask }) => {
        this.edits.tell(REJECTED, ask);
      }),
    );
  }

  /** Run what a user began; they hear of every failure, once. */
  private async guarded(run: () => unknown): Promise<void> {
    try {
      await run();
    } catch (error) {
      if (!(error instanceof NotReady)) {
        await tell(failed(failureOf(error)));
      }
    }
  }

  private onPreview(act: (preview: Preview) => unknown): (given?: unknown) => unknown {
    return (given) => {
      const preview = this.previews.find(uriIn(given));
      return preview === undefined ? tell(NO_PREVIEW) : act(preview);
    };
  }

  /** Another instruction for a preview's place, else for the last edit's, else a first one. */
  private retry(uri: Uri | undefined): Promise<void> {
    const ask = this.previews.find(uri)?.ask ?? this.asks.last;
    return ask === undefined ? this.actions.edit(KINDS.editCode) : this.actions.retry(ask);
  }
}

/** What a button or a CodeLens says it is about; keybindings and the palette say nothing. */
function uriIn(given: unknown): Uri | undefined {
  return given instanceof Uri ? given : undefined;
}
