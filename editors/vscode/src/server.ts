/** The server's life: found, started, started again when it dies, and asked. */

import { homedir } from "node:os";
import { type Disposable, EventEmitter, type OutputChannel, commands, workspace } from "vscode";
import { ExecuteCommandRequest, State } from "vscode-languageclient/node";
import { Bars } from "./progressNotifications";
import { Child } from "./serverProcess";
import { Client, type Hooks } from "./client";
import { type Found, type Launch, type Wishes, expand, find, missing } from "./core/discovery";
import type { Phase } from "./core/statusText";
import { GIVEN_UP, type Notice, failureOf, notStarted } from "./core/notices";
import { Restarts } from "./core/restarts";
import { machine } from "./machine";
import { tell } from "./notify";
import type * as protocol from "./protocol";
import * as python from "./pythonExtension";

const START_MS = 60_000; // to its first answer, on a busy machine

/** The server cannot be asked; the user was told why. */
export class NotReady extends Error {}

export class Server implements Disposable {
  phase: Phase = "starting";
  found: Found | undefined;
  /** The last word of the server that runs. */
  status: protocol.Status | undefined;
  private client: Client | undefined;
  private trouble: Notice | undefined; // why there is none
  private turn: Promise<void> = Promise.resolve(); // the start or stop that comes last
  private readonly restarts = new Restarts();
  private readonly bars = new Bars();
  private readonly changed = new EventEmitter<void>();
  readonly onDidChange = this.changed.event;

  /** Processes run in `home`: a folder of the workspace could hold modules that shadow others. */
  constructor(
    readonly home: string,
    private readonly log: OutputChannel,
    private readonly hooks: Omit<Hooks, "status">,
  ) {}

  /** Stop the server if it runs, look for it again and start it. */
  restart(): Promise<void> {
    return this.after(async () => {
      await this.halt();
      await this.launch();
    });
  }

  stop(): Promise<void> {
    return this.after(() => this.halt());
  }

  /** Look for the server again, and start it anew where another is found. */
  async reconsider(): Promise<void> {
    await this.turn;
    const found = await find(wishes(), machine(this.home));
    if (JSON.stringify(launchOf(found)) !== JSON.stringify(launchOf(this.found))) {
      await this.restart();
    }
  }

  /** Run one of the server's commands. Throws NotReady, or the error it answers. */
  async execute<T>(command: string, argument?: object, token?: string): Promise<T> {
    const client = await this.ready();
    return (await client.sendRequest(ExecuteCommandRequest.type, {
      command,
      arguments: argument === undefined ? [] : [argument],
      // With a token of ours, the server creates no progress display of its own.
      ...(token === undefined ? {} : { workDoneToken: token }),
    })) as T;
  }

  /** Tell a running server something. */
  notify(method: string, params: object): void {
    this.client?.sendNotification(method, params).catch((error: unknown) => {
      this.log.appendLine(`${method} was not sent: ${failureOf(error).message}`);
    });
  }

  /** The client, once it runs. Throws NotReady after telling the user why there is none. */
  async ready(): Promise<Client> {
    await this.turn;
    if (this.client === undefined) {
      this.tellTrouble();
      throw new NotReady();
    }
    return this.client;
  }

  /** Whether there is a server or soon will be; else the user is told why not. */
  isThere(): boolean {
    const isThere = this.phase === "running" || this.phase === "starting";
    if (!isThere) {
      this.tellTrouble();
    }
    return isThere;
  }

  /** The end of a start or stop that is under way. */
  settled(): Promise<void> {
    return this.turn;
  }

  /** Tell the user why there is no server, and how to get one. */
  tellTrouble(): void {
    if (this.trouble !== undefined) {
      void tell(this.trouble);
    }
  }

  dispose(): void {
    this.changed.dispose();
  }

  private after(step: () => Promise<void>): Promise<void> {
    this.turn = this.turn.then(step).catch((error: unknown) => {
      this.gaveUp(notStarted("redraft", failureOf(error).message));
    });
    return this.turn;
  }

  private async launch(): Promise<void> {
    this.become("starting");
    this.found = await find(wishes(), machine(this.home));
    for (const line of this.found.trail) {
      this.log.appendLine(`looking for the server: ${line}`);
    }
    if (this.found.kind === "missing") {
      const around = { isTrusted: workspace.isTrusted, hasPython: python.isInstalled() };
      this.trouble = missing(this.found, around);
      this.become("missing");
    } else {
      await this.begin(this.found.launch);
    }
  }

  private async begin({ command, args }: Launch): Promise<void> {
    const launch = { command, args: [...args, "serve"] };
    let child: Child | undefined;
    const started = async (): Promise<Child["process"]> => {
      child = await Child.start(launch, this.home);
      return child.process;
    };
    const status = (status: protocol.Status): void => {
      this.status = status;
      this.changed.fire();
    };
    const client = new Client(started, this.log, this.bars, { ...this.hooks, status });
    try {
      await Promise.race([client.start(), late()]);
    } catch (error) {
      // How the process ended says more than that it did not answer.
      const why = (await child?.ended()) ?? failureOf(error).message;
      child?.kill();
      this.gaveUp(notStarted([command, ...args].join(" "), why));
      return;
    }
    this.client = client;
    client.onDidChangeState(({ newState }) => {
      if (newState === State.Stopped && this.client === client) {
        void this.died(child);
      }
    });
    this.become("running");
  }

  private async died(child: Child | undefined): Promise<void> {
    this.client = undefined;
    this.bars.clear();
    const mayRestart = this.restarts.allows(Date.now());
    const restarted = mayRestart ? this.restart() : undefined;
    this.log.appendLine(`the server is gone: ${(await child?.ended()) ?? "unknown"}`);
    await restarted;
    if (!mayRestart) {
      this.gaveUp(GIVEN_UP);
    }
  }

  private gaveUp(trouble: Notice): void {
    this.trouble = trouble;
    this.become("stopped");
    this.tellTrouble();
  }

  private async halt(): Promise<void> {
    const { client } = this;
    this.client = undefined;
    this.bars.clear();
    try {
      await client?.dispose();
    } catch (error) {
      this.log.appendLine(`the server did not stop in time: ${failureOf(error).message}`);
    }
    this.become("stopped");
  }

  private become(phase: Phase): void {
    this.phase = phase;
    this.status = phase === "running" ? this.status : undefined;
    void commands.executeCommand("setContext", "redraft.serverReady", phase === "running");
    this.changed.fire();
  }
}

function late(): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(reject, START_MS, new Error("it does not answer"));
  });
}

function launchOf(found: Found | undefined): Launch | undefined {
  return found?.kind === "found" ? found.launch : undefined;
}

function wishes(): Wishes {
  const folders = (workspace.workspaceFolders ?? [])
    .filter(({ uri }) => uri.scheme === "file")
    .map(({ uri }) => uri.fsPath);
  // A user's own setting may lead into the workspace: not before that is trusted.
  const folder = workspace.isTrusted ? folders[0] : undefined;
  const variables = { home: homedir(), folder, environment: process.env };
  const server = workspace.getConfiguration("redraft.server");
  return {
    path: expand(server.get("path", ""), variables),
    python: expand(server.get("python", ""), variables),
    isTrusted: workspace.isTrusted,
    folders,
    selected: python.selected,
  };
}
