/** The entry point: puts the extension's parts together, and registers its commands. */

import { type Disposable, type ExtensionContext, Uri, commands, window, workspace } from "vscode";
import { Commands, EDIT_COMMANDS } from "./commands";
import { NO_PREVIEW, REJECTED, createFailureNotice, readFailure } from "./core/notices";
import { EditRequests } from "./editRequests";
import { Edits } from "./edits";
import { showNotice } from "./notify";
import { type Preview, Previews } from "./previews";
import { Prompt } from "./prompt";
import { PROMPT, type PromptParams } from "./protocol";
import * as pythonExtension from "./pythonExtension";
import { Reports } from "./reports";
import * as review from "./review";
import { NotReadyError, Server } from "./server";
import { StatusItem } from "./status";
import * as support from "./support";

let extension: Extension | undefined;

export function activate(context: ExtensionContext): void {
  extension = new Extension(context);
  context.subscriptions.push(extension);
  void extension.start();
}

export async function deactivate(): Promise<void> {
  await extension?.stop();
}

// In the global state: the user was told that there is no server.
const MISSING_WAS_SHOWN = "redraft.toldMissing";

/** A button or a CodeLens gives its command one argument; keybindings and the palette give none. */
type CommandHandler = (argument?: unknown) => unknown;

class Extension implements Disposable {
  private readonly log = window.createOutputChannel("redraft");
  private readonly server: Server;
  private readonly requests = new EditRequests();
  private readonly previews = new Previews();
  private readonly edits: Edits;
  private readonly prompt: Prompt;
  private readonly commands: Commands;
  private readonly status: StatusItem;
  private readonly reports = new Reports();
  private readonly registered: Disposable[] = [];

  constructor(private readonly context: ExtensionContext) {
    this.server = new Server(context.extensionPath, this.log, {
      runAction: (params) => void this.runGuarded(() => this.commands.runAction(params)),
      updateEdit: (partial) => {
        this.edits.updateProgress(partial);
      },
    });
    this.prompt = new Prompt(context.globalState);
    this.edits = new Edits(
      this.server,
      this.requests,
      this.previews,
      (request) => this.commands.retry(request),
      () => this.prompt.isOpen,
    );
    this.commands = new Commands(this.server, this.requests, this.edits, this.prompt);
    this.status = new StatusItem(this.server, this.edits, this.previews);
    this.registerCommands();
    this.registerListeners();
  }

  /** Find and start the server. That there is none is said once, and then with each command. */
  async start(): Promise<void> {
    await this.server.restart();
    const isMissing = this.server.phase === "missing";
    if (isMissing && !this.context.globalState.get<boolean>(MISSING_WAS_SHOWN, false)) {
      this.server.showProblem();
    }
    await this.context.globalState.update(MISSING_WAS_SHOWN, isMissing);
    // Only now: the search for the server has activated the Python extension, if there is one.
    const listener = pythonExtension.onDidSelectInterpreter(() => this.server.restartIfChanged());
    this.registered.push(...(listener ? [listener] : []));
  }

  async stop(): Promise<void> {
    await this.server.stop();
  }

  dispose(): void {
    for (const disposable of [
      ...this.registered,
      this.status,
      this.prompt,
      this.edits,
      this.previews,
      this.requests,
      this.reports,
      this.server,
      this.log,
    ]) {
      disposable.dispose();
    }
  }

  private registerCommands(): void {
    const { server, previews, edits } = this;
    const handlers: Record<string, CommandHandler> = {
      ...Object.fromEntries(
        Object.entries(EDIT_COMMANDS).map(([name, command]) => [
          `redraft.${name}`,
          (argument: unknown) => this.commands.edit(command, argument),
        ]),
      ),
      "redraft.fixProblem": () => this.commands.fixProblem(),
      [PROMPT]: (argument) => this.commands.runPrompt(argument as PromptParams),
      "redraft.accept": this.withPreview((preview) => review.accept(preview, previews, edits)),
      "redraft.reject": this.withAnyPreview((preview) => review.reject(preview, previews, edits)),
      "redraft.showDiff": this.withAnyPreview((preview) => edits.show(preview)),
      "redraft.retry": (argument) => this.retry(readUri(argument)),
      "redraft.cancelEdit": () => {
        edits.cancelAll();
      },
      "redraft.restartServer": () => server.restart(),
      "redraft.showLog": () => {
        this.log.show();
      },
      "redraft.debugInformation": () => support.showDebugInfo(this.context, server, this.reports),
      "redraft.showLastTrace": () => support.showTrace(server, this.reports),
      "redraft.downloadModel": () => support.downloadModel(server),
      "redraft.selectInterpreter": () => pythonExtension.selectInterpreter(),
      "redraft.install": () =>
        commands.executeCommand("workbench.action.openWalkthrough", "redraft.redraft#start", false),
      "redraft.menu": () => this.status.showMenu(),
    };
    for (const [name, handler] of Object.entries(handlers)) {
      const guarded = (argument?: unknown): unknown => this.runGuarded(() => handler(argument));
      this.registered.push(commands.registerCommand(name, guarded));
    }
  }

  private registerListeners(): void {
    this.registered.push(
      workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("redraft.server")) {
          void this.server.restart();
        }
      }),
      workspace.onDidGrantWorkspaceTrust(() => this.server.restart()),
      workspace.onDidChangeWorkspaceFolders(() => this.server.restartIfChanged()),
      this.previews.onDidCloseTab(({ request }) => {
        this.edits.notify(REJECTED, request);
      }),
    );
  }

  /** Run what the user began, and show a failure, unless that was done already. */
  private async runGuarded(run: () => unknown): Promise<void> {
    try {
      await run();
    } catch (error) {
      if (!(error instanceof NotReadyError)) {
        await showNotice(createFailureNotice(readFailure(error)));
      }
    }
  }

  /** Return the handler of a command for the preview that its argument or the active tab names. */
  private withPreview(run: (preview: Preview) => unknown): CommandHandler {
    return (argument) => {
      const preview = this.previews.find(readUri(argument));
      return preview === undefined ? showNotice(NO_PREVIEW) : run(preview);
    };
  }

  /** As `withPreview`; where nothing names one, that of the preview that has waited longest. */
  private withAnyPreview(run: (preview: Preview) => unknown): CommandHandler {
    return (argument) => {
      const preview = this.previews.find(readUri(argument)) ?? this.previews.first;
      return preview === undefined ? showNotice(NO_PREVIEW) : run(preview);
    };
  }

  /** Ask for another instruction for a preview, else for the last edit; without one, for a first. */
  private retry(uri: Uri | undefined): Promise<void> {
    const preview = this.previews.find(uri);
    if (preview !== undefined) {
      return this.commands.retry(preview.request, () => review.withdraw(preview, this.previews));
    }
    const request = this.requests.last;
    return request === undefined
      ? this.commands.edit(EDIT_COMMANDS.editCode)
      : this.commands.retry(request);
  }
}

function readUri(argument: unknown): Uri | undefined {
  return argument instanceof Uri ? argument : undefined;
}
