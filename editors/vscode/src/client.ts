/**
 * The language client: which documents it serves, its options, and what it does differently.
 *
 * The library's own restarts and messages are switched off; `Server` decides about both.
 */

import { type OutputChannel, workspace } from "vscode";
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  type LanguageClientOptions,
  type Middleware,
  RevealOutputChannelOn,
  type ServerOptions,
  WorkDoneProgressCancelNotification,
} from "vscode-languageclient/node";
import { selectServerSettings } from "./core/settings";
import type { ProgressNotifications } from "./progressNotifications";
import * as protocol from "./protocol";

/** What is called for the messages of the server, and for the edits of its code actions. */
export interface ClientHandlers {
  runAction(params: protocol.EditParams): unknown;
  updateEdit(partial: protocol.Partial): void;
  updateStatus(status: protocol.Status): void;
}

export class Client extends LanguageClient {
  constructor(
    server: ServerOptions,
    log: OutputChannel,
    notifications: ProgressNotifications,
    handlers: ClientHandlers,
  ) {
    const cancelProgress = (token: string | number): void => {
      void this.sendNotification(WorkDoneProgressCancelNotification.type, { token });
    };
    super("redraft", "redraft", server, {
      ...OPTIONS,
      initializationOptions: buildInitializationOptions(),
      outputChannel: log,
      middleware: createMiddleware(notifications, handlers, cancelProgress),
    });
    this.onNotification(protocol.PARTIAL_NOTIFICATION, handlers.updateEdit.bind(handlers));
    this.onNotification(protocol.STATUS_NOTIFICATION, handlers.updateStatus.bind(handlers));
  }

  /** Write to the log; the library would show a message, too. */
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }

  /** Stop, where it runs. The library calls this for a client that did not start, and would throw. */
  override async stop(timeout?: number): Promise<void> {
    if (this.isRunning()) {
      await super.stop(timeout);
    }
  }
}

const OPTIONS: LanguageClientOptions = {
  documentSelector: [{ scheme: "file" }, { scheme: "untitled" }],
  revealOutputChannelOn: RevealOutputChannelOn.Never,
  initializationFailedHandler: () => false,
  errorHandler: {
    error: () => ({ action: ErrorAction.Continue, handled: true }),
    closed: () => ({ action: CloseAction.DoNotRestart, handled: true }),
  },
};

function buildInitializationOptions(): protocol.InitializationOptions {
  return {
    clientCommands: [protocol.PROMPT],
    trusted: workspace.isTrusted,
    statusNotifications: true,
  };
}

function createMiddleware(
  notifications: ProgressNotifications,
  handlers: ClientHandlers,
  cancelProgress: (token: string | number) => void,
): Middleware {
  return {
    // The edits of code actions are shown and applied as all others, not by the library.
    executeCommand: (command, args: unknown[], next): unknown =>
      command === protocol.EDIT && args.length > 0
        ? handlers.runAction(args[0] as protocol.EditParams)
        : next(command, args),
    handleWorkDoneProgress: (token, value, next) => {
      notifications.update(token, value, () => {
        cancelProgress(token);
      });
      // The library forgets a token at its end; all else it would show a second time.
      if (value.kind === "end") {
        next(token, value);
      }
    },
    workspace: {
      configuration: async (params, token, next) => {
        const sections: unknown = await next(params, token);
        return Array.isArray(sections) ? sections.map(selectServerSettings) : [];
      },
    },
  };
}
