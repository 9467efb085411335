/** Progress that the server shows by itself, such as a download: notifications with a cancel. */

import { type Progress, ProgressLocation, window } from "vscode";
import type {
  ProgressToken,
  WorkDoneProgressBegin,
  WorkDoneProgressEnd,
  WorkDoneProgressReport,
} from "vscode-languageclient/node";

type Value = WorkDoneProgressBegin | WorkDoneProgressReport | WorkDoneProgressEnd;

export class Bars {
  private readonly shown = new Map<ProgressToken, (value: Value) => void>();

  /** Show one step; `cancel` is called when the user cancels. */
  take(token: ProgressToken, value: Value, cancel: () => unknown): void {
    if (value.kind === "begin") {
      this.begin(token, value, cancel);
    } else {
      this.shown.get(token)?.(value);
    }
  }

  /** The server is gone, and with it what it did. */
  clear(): void {
    for (const show of this.shown.values()) {
      show({ kind: "end" });
    }
  }

  private begin(token: ProgressToken, begun: WorkDoneProgressBegin, cancel: () => unknown): void {
    const options = {
      location: ProgressLocation.Notification,
      title: `redraft: ${begun.title}`,
      cancellable: begun.cancellable === true,
    };
    void window.withProgress(options, (progress, cancelled) => {
      cancelled.onCancellationRequested(cancel);
      return new Promise<void>((resolve) => {
        this.shown.set(token, this.shower(token, progress, resolve));
      });
    });
  }

  private shower(
    token: ProgressToken,
    progress: Progress<{ message?: string; increment?: number }>,
    end: () => void,
  ): (value: Value) => void {
    let reached = 0;
    return (value) => {
      if (value.kind === "end") {
        this.shown.delete(token);
        end();
      } else if (value.kind === "report") {
        const percentage = Math.max(reached, value.percentage ?? 0);
        progress.report({ message: value.message ?? "", increment: percentage - reached });
        reached = percentage;
      }
    };
  }
}
