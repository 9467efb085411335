/** Progress that the server begins by itself, such as a download: notifications with a cancel. */

import { ProgressLocation, window } from "vscode";
import type {
  ProgressToken,
  WorkDoneProgressBegin,
  WorkDoneProgressEnd,
  WorkDoneProgressReport,
} from "vscode-languageclient/node";

type ProgressValue = WorkDoneProgressBegin | WorkDoneProgressReport | WorkDoneProgressEnd;

export class ProgressNotifications {
  private readonly updaters = new Map<ProgressToken, (value: ProgressValue) => void>();

  /** Show one step of a progress; `cancel` is called when the user cancels. */
  update(token: ProgressToken, value: ProgressValue, cancel: () => unknown): void {
    if (value.kind === "begin") {
      this.begin(token, value, cancel);
    } else {
      this.updaters.get(token)?.(value);
    }
  }

  /** End all of them: the server that would is gone. */
  clear(): void {
    for (const update of this.updaters.values()) {
      update({ kind: "end" });
    }
  }

  private begin(
    token: ProgressToken,
    { title, cancellable }: WorkDoneProgressBegin,
    cancel: () => unknown,
  ): void {
    const options = {
      location: ProgressLocation.Notification,
      title: `redraft: ${title}`,
      cancellable: cancellable === true,
    };
    void window.withProgress(options, (progress, cancellation) => {
      cancellation.onCancellationRequested(cancel);
      // The notification is shown until this promise is resolved.
      return new Promise<void>((resolve) => {
        let reached = 0; // in percent; VS Code adds up increments
        this.updaters.set(token, (value) => {
          if (value.kind === "end") {
            this.updaters.delete(token);
            resolve();
          } else if (value.kind === "report") {
            const percentage = Math.max(reached, value.percentage ?? 0);
            progress.report({ message: value.message ?? "", increment: percentage - reached });
            reached = percentage;
          }
        });
      });
    });
  }
}
