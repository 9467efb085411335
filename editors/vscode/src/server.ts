/**
 * The server's life cycle: found, started, started again when it crashes; and requests to it.
 *
 * Starts and stops run one after the other, whoever asks for them; requests wait for the last one.
 */

import { homedir } from "node:os";
import { type Disposable, EventEmitter, type OutputChannel, commands, workspace } from "vscode";
import { ExecuteCommandRequest, State } from "vscode-languageclient/node";
import { Client, type ClientHandlers } from "./client";
import {
  type LaunchCommand,
  type SearchResult,
  type ServerConfig,
  createMissingServerNotice,
  expandPath,
  findServer,
} from "./core/discovery";
import { GAVE_UP, type Notice, createNotStartedNotice, readFailure } from "./core/notices";
import { RestartLimiter } from "./core/restarts";
import type { ServerPhase } from "./core/statusText";
import { createMachine } from "./machine";
import { showNotice } from "./notify";
import { ProgressNotifications } from "./progressNotifications";
import type * as protocol from "./protocol";
import * as pythonExtension from "./pythonExtension";
import { ServerProcess } from "./serverProcess";

const START_MS = 60_000; // to its first answer, on a busy machine

/** There is no server to send a request to; the user was told why. */
export class NotReadyError extends Error {}

export class Server implements Disposable {
  phase: ServerPhase = "starting";
  searchResult: SearchResult | undefined;
  /** What the running server said last. */
  status: protocol.Status | undefined;
  private client: Client | undefined;
  private problem: Notice | undefined; // why there is no server
  private lastStep: Promise<void> = Promise.resolve(); // of the starts and stops
  private readonly restartLimiter = new RestartLimiter();
  private readonly notifications = new ProgressNotifications();
  private readonly changed = new EventEmitter<void>();
  readonly onDidChange = this.changed.event;

  /** Processes run in `home`: a folder of the workspace could hold modules that shadow others. */
  constructor(
    readonly home: string,
    private readonly log: OutputChannel,
    private readonly handlers: Omit<ClientHandlers, "updateStatus">,
  ) {}

  /** Stop the server if it runs, look for it again and start it. */
  restart(): Promise<void> {
    return this.enqueue(async () => {
      await this.stopClient();
      await this.findAndStart();
    });
  }

  stop(): Promise<void> {
    return this.enqueue(() => this.stopClient());
  }

  /** Look for the server again, and restart it where another one is found. */
  async restartIfChanged(): Promise<void> {
    await this.lastStep;
    const result = await findServer(readServerConfig(), createMachine(this.home));
    if (
      JSON.stringify(getLaunchCommand(result)) !==
      JSON.stringify(getLaunchCommand(this.searchResult))
    ) {
      await this.restart();
    }
  }

  /** Run one of the server's commands. Throws NotReadyError, or the error that the server answers. */
  async execute<T>(command: string, argument?: object, token?: string): Promise<T> {
    const client = await this.whenReady();
    return (await client.sendRequest(ExecuteCommandRequest.type, {
      command,
      arguments: argument === undefined ? [] : [argument],
      // With a token of ours, the server begins no progress notification of its own.
      ...(token === undefined ? {} : { workDoneToken: token }),
    })) as T;
  }

  /** Send a notification, if the server runs. */
  notify(method: string, params: object): void {
    this.client?.sendNotification(method, params).catch((error: unknown) => {
      this.log.appendLine(`${method} was not sent: ${readFailure(error).message}`);
    });
  }

  /** Return the client once it runs. Throws NotReadyError after telling the user why there is none. */
  async whenReady(): Promise<Client> {
    await this.lastStep;
    if (this.client === undefined) {
      this.showProblem();
      throw new NotReadyError();
    }
    return this.client;
  }

  /** Return true where the server runs or is starting; else tell the user why not. */
  checkAvailable(): boolean {
    const isAvailable = this.phase === "running" || this.phase === "starting";
    if (!isAvailable) {
      this.showProblem();
    }
    return isAvailable;
  }

  /** Wait until no start or stop is running. */
  whenSettled(): Promise<void> {
    return this.lastStep;
  }

  /** Tell the user why there is no server, and how to get one. */
  showProblem(): void {
    if (this.problem !== undefined) {
      void showNotice(this.problem);
    }
  }

  dispose(): void {
    this.changed.dispose();
  }

  /** Run `step` when the earlier ones are done. */
  private enqueue(step: () => Promise<void>): Promise<void> {
    this.lastStep = this.lastStep.then(step).catch((error: unknown) => {
      this.giveUp(createNotStartedNotice("redraft", readFailure(error).message));
    });
    return this.lastStep;
  }

  private async findAndStart(): Promise<void> {
    this.setPhase("starting");
    this.searchResult = await findServer(readServerConfig(), createMachine(this.home));
    for (const line of this.searchResult.trail) {
      this.log.appendLine(`looking for the server: ${line}`);
    }
    if (this.searchResult.kind === "missing") {
      this.problem = createMissingServerNotice(this.searchResult, {
        isTrusted: workspace.isTrusted,
        hasPython: pythonExtension.isInstalled(),
      });
      this.setPhase("missing");
    } else {
      await this.startClient(this.searchResult.launch);
    }
  }

  private async startClient({ command, args }: LaunchCommand): Promise<void> {
    const serveCommand = { command, args: [...args, "serve"] };
    let serverProcess: ServerProcess | undefined;
    const startProcess = async (): Promise<ServerProcess["process"]> => {
      serverProcess = await ServerProcess.start(serveCommand, this.home);
      return serverProcess.process;
    };
    const updateStatus = (status: protocol.Status): void => {
      this.status = status;
      this.changed.fire();
    };
    const client = new Client(startProcess, this.log, this.notifications, {
      ...this.handlers,
      updateStatus,
    });
    try {
      await Promise.race([client.start(), failAfterTimeout()]);
    } catch (error) {
      // How the process ended says more than that it did not answer.
      const reason = (await serverProcess?.describeExit()) ?? readFailure(error).message;
      serverProcess?.kill();
      this.giveUp(createNotStartedNotice([command, ...args].join(" "), reason));
      return;
    }
    this.client = client;
    client.onDidChangeState(({ newState }) => {
      // stopClient forgets the client first: whoever is still the client has crashed.
      if (newState === State.Stopped && this.client === client) {
        void this.handleCrash(serverProcess);
      }
    });
    this.setPhase("running");
  }

  private async handleCrash(serverProcess: ServerProcess | undefined): Promise<void> {
    this.client = undefined;
    this.notifications.clear();
    const mayRestart = this.restartLimiter.recordCrash(Date.now());
    const restarted = mayRestart ? this.restart() : undefined;
    const reason = (await serverProcess?.describeExit()) ?? "unknown";
    this.log.appendLine(`the server is gone: ${reason}`);
    await restarted;
    if (!mayRestart) {
      this.giveUp(GAVE_UP);
    }
  }

  private giveUp(problem: Notice): void {
    this.problem = problem;
    this.setPhase("stopped");
    this.showProblem();
  }

  private async stopClient(): Promise<void> {
    const { client } = this;
    this.client = undefined;
    this.notifications.clear();
    try {
      await client?.dispose();
    } catch (error) {
      this.log.appendLine(`the server did not stop in time: ${readFailure(error).message}`);
    }
    this.setPhase("stopped");
  }

  private setPhase(phase: ServerPhase): void {
    this.phase = phase;
    this.status = phase === "running" ? this.status : undefined;
    void commands.executeCommand("setContext", "redraft.serverReady", phase === "running");
    this.changed.fire();
  }
}

function failAfterTimeout(): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(reject, START_MS, new Error("it does not answer"));
  });
}

function getLaunchCommand(result: SearchResult | undefined): LaunchCommand | undefined {
  return result?.kind === "found" ? result.launch : undefined;
}

function readServerConfig(): ServerConfig {
  const folders = (workspace.workspaceFolders ?? [])
    .filter(({ uri }) => uri.scheme === "file")
    .map(({ uri }) => uri.fsPath);
  // A user's setting may name the workspace's folder: not before that is trusted.
  const folder = workspace.isTrusted ? folders[0] : undefined;
  const variables = { home: homedir(), folder, environment: process.env };
  const server = workspace.getConfiguration("redraft.server");
  return {
    path: expandPath(server.get("path", ""), variables),
    python: expandPath(server.get("python", ""), variables),
    isTrusted: workspace.isTrusted,
    folders,
    getSelectedInterpreter: pythonExtension.getSelectedInterpreter,
  };
}
