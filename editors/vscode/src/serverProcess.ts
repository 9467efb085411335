/** The server's process: its start, its last words and its end. */

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import type { Launch } from "./core/discovery";
import { epitaph } from "./core/exitMessage";

const KEPT = 4_000; // of what it wrote to stderr, in characters
const END_MS = 2_000; // between the end of its output and its own

export class Child {
  private words = "";

  private constructor(readonly process: ChildProcessWithoutNullStreams) {
    process.stderr.on("data", (data: Buffer) => {
      this.words = (this.words + data.toString()).slice(-KEPT);
    });
    // Writing to a process that is gone is noticed by the end of its output.
    process.stdin.on("error", () => undefined);
  }

  /** Start the server in `folder`. Throws where the system cannot. */
  static async start({ command, args }: Launch, folder: string): Promise<Child> {
    const child = spawn(command, [...args], { cwd: folder, windowsHide: true });
    await once(child, "spawn");
    return new Child(child);
  }

  /** How it ended, once it has; waits a moment for that. */
  async ended(): Promise<string> {
    if (this.isAlive) {
      const late = new Promise((resolve) => setTimeout(resolve, END_MS));
      await Promise.race([once(this.process, "exit"), late]);
    }
    return epitaph(this.process.exitCode, this.process.signalCode, this.words);
  }

  kill(): void {
    this.process.kill();
  }

  private get isAlive(): boolean {
    return this.process.exitCode === null && this.process.signalCode === null;
  }
}
