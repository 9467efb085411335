/**
 * The client library, set up: which documents, which options, and what is done in another way.
 *
 * Its own restarts and messages are switched off; `Server` decides about both.
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
import type { Bars } from "./progressNotifications";
import { serverSettings } from "./core/settings";
import * as protocol from "./protocol";

/** What the server, or a code action of its, asks of the extension. */
export interface Hooks {
  /** An edit that a code action asks for. */
  edit(params: protocol.EditParams): unknown;
  partial(partial: protocol.Partial): void;
  status(status: protocol.Status): void;
}

export class Client extends LanguageClient {
  constructor(server: ServerOptions, log: OutputChannel, bars: Bars, hooks: Hooks) {
    const cancel = (token: string | number): void => {
      void this.sendNotification(WorkDoneProgressCancelNotification.type, { token });
    };
    super("redraft", "redraft", server, {
      ...OPTIONS,
      initializationOptions: initializationOptions(),
      outputChannel: log,
      middleware: middleware(bars, hooks, cancel),
    });
    this.onNotification(protocol.PARTIAL_NOTIFICATION, hooks.partial.bind(hooks));
    this.onNotification(protocol.STATUS_NOTIFICATION, hooks.status.bind(hooks));
  }

  /** Write to the log, and show no message. */
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }

  /** The library stops a client that could not be started, which fails. */
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

function initializationOptions(): protocol.InitializationOptions {
  return {
    clientCommands: [protocol.PROMPT],
    trusted: workspace.isTrusted,
    statusNotifications: true,
  };
}

function middleware(
  bars: Bars,
  hooks: Hooks,
  cancel: (token: string | number) => void,
): Middleware {
  return {
    executeCommand: (command, args: unknown[], next): unknown =>
      command === protocol.EDIT && args.length > 0
        ? hooks.edit(args[0] as protocol.EditParams)
        : next(command, args),
    handleWorkDoneProgress: (token, value, next) => {
      bars.take(token, value, () => {
        cancel(token);
      });
      if (value.kind === "end") {
        next(token, value);
      }
    },
    workspace: {
      configuration: async (params, token, next) => {
        const sections: unknown = await next(params, token);
        return Array.isArray(sections) ? sections.map(serverSettings) : [];
      },
    },
  };
}
