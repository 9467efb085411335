/** The server's process: its start, the end of its stderr, and how it ended. */

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import type { LaunchCommand } from "./core/discovery";
import { buildExitMessage } from "./core/exitMessage";

const STDERR_LENGTH = 4_000; // how much of its end is kept, in characters
const EXIT_MS = 2_000; // from the end of its output to its exit

export class ServerProcess {
  private stderr = "";

  private constructor(readonly process: ChildProcessWithoutNullStreams) {
    process.stderr.on("data", (data: Buffer) => {
      this.stderr = (this.stderr + data.toString()).slice(-STDERR_LENGTH);
    });
    // Without a listener, writing to a process that is gone would throw. Its end is noticed anyway.
    process.stdin.on("error", () => undefined);
  }

  /** Start the server in `folder`. Throws where the system cannot. */
  static async start({ command, args }: LaunchCommand, folder: string): Promise<ServerProcess> {
    const child = spawn(command, [...args], { cwd: folder, windowsHide: true });
    await once(child, "spawn");
    return new ServerProcess(child);
  }

  /** Return how it ended; wait a moment for that. */
  async describeExit(): Promise<string> {
    const isRunning = this.process.exitCode === null && this.process.signalCode === null;
    if (isRunning) {
      const timeout = new Promise((resolve) => setTimeout(resolve, EXIT_MS));
      await Promise.race([once(this.process, "exit"), timeout]);
    }
    return buildExitMessage(this.process.exitCode, this.process.signalCode, this.stderr);
  }

  kill(): void {
    this.process.kill();
  }
}
