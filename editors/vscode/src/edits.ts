/** One edit from the wish to its ending: computed by the server, then shown, applied or refused. */

import {
  type CancellationToken,
  type Disposable,
  EventEmitter,
  type Progress,
  ProgressLocation,
  WorkspaceEdit,
  window,
  workspace,
} from "vscode";
import { type Ask, type Asks, plain, rangeOf } from "./editRequests";
import * as notices from "./core/notices";
import { Steps, told } from "./core/progress";
import { short } from "./core/format";
import { type Ways, tell } from "./notify";
import type { Previews } from "./previews";
import {
  CANCEL_NOTIFICATION,
  EDIT,
  type EditParams,
  type EditResult,
  ErrorCode,
  type Partial,
  type TextEdit,
} from "./protocol";
import { NotReady, type Server } from "./server";

/** `redraft.preview`: what happens with a change once the model has written it. */
type Manner = "diff" | "refactorPreview" | "apply";

export class Edits implements Disposable {
  private readonly running = new Map<string, (partial: Partial) => void>();
  private readonly changed = new EventEmitter<void>();
  private n = 0;
  /** How fast the model writes, in tokens/s: 0 before it does, undefined without an edit. */
  speed: number | undefined;
  readonly onDidChange = this.changed.event;

  /** `retry` asks for another instruction for the same place. */
  constructor(
    private readonly server: Server,
    private readonly asks: Asks,
    private readonly previews: Previews,
    private readonly retry: (ask: Ask) => unknown,
  ) {}

  /** See `ask` through to its ending, whatever that is. */
  async run(ask: Ask): Promise<void> {
    const manner = workspace.getConfiguration("redraft").get<Manner>("preview", "diff");
    try {
      await this.ended(ask, await this.computed(ask, manner), manner);
    } catch (error) {
      if (!(error instanceof NotReady)) {
        this.tell(notices.failed(notices.failureOf(error)), ask);
      }
    }
  }

  /** The same once more, at the same place of the document as it is now. */
  async again(ask: Ask): Promise<void> {
    if (ask.isLive) {
      await this.run(this.asks.of(ask.document, ask.range, ask.wanted));
    } else {
      await tell(notices.GONE);
    }
  }

  /** Cancel all edits that are under way. */
  cancel(): void {
    this.server.notify(CANCEL_NOTIFICATION, {});
  }

  /** Take in how far an edit is. */
  heard(partial: Partial): void {
    this.running.get(partial.id)?.(partial);
  }

  /** Show `notice`, with ways to go on with `ask`. */
  tell(notice: notices.Notice, ask: Ask, more: Ways = {}): void {
    const ways: Ways = { again: () => this.again(ask), retry: () => this.retry(ask) };
    void tell(notice, { ...ways, ...more });
  }

  /** Apply `edits`, which are for the document as it is now; false where VS Code or the user
   * refuses. With `confirm`, VS Code shows them in its own preview first. */
  async apply(ask: Ask, edits: readonly TextEdit[], confirm?: "confirm"): Promise<boolean> {
    const label = `redraft: ${short(ask.label)}`;
    const change = new WorkspaceEdit();
    for (const { range, newText } of edits) {
      const metadata = confirm && { label, needsConfirmation: true };
      change.replace(ask.document.uri, rangeOf(range), newText, metadata);
    }
    return workspace.applyEdit(change);
  }

  dispose(): void {
    this.changed.dispose();
  }

  private async ended(ask: Ask, answer: EditResult, manner: Manner): Promise<void> {
    for (const note of answer.notes) {
      void tell(notices.note(note));
    }
    if (answer.outcome !== "preview") {
      this.tell(answer.outcome === "applied" ? notices.APPLIED : notices.UNCHANGED, ask);
    } else if (answer.version !== ask.document.version) {
      this.tell(notices.outdated(ask.file), ask);
    } else if (manner === "diff") {
      await this.previews.show(ask, answer.edits);
      this.tell(notices.cost(answer.stats), ask);
    } else {
      const isApplied = await this.apply(ask, answer.edits, "confirm");
      this.tell(isApplied ? notices.APPLIED : notices.REJECTED, ask);
    }
  }

  private async computed(ask: Ask, manner: Manner): Promise<EditResult> {
    const id = `vscode-${++this.n}`;
    const options = {
      location: ProgressLocation.Notification,
      title: `redraft: ${short(ask.label)}`,
      cancellable: true,
    };
    return window.withProgress(options, async (progress, token) => {
      token.onCancellationRequested(() => {
        this.server.notify(CANCEL_NOTIFICATION, { id });
      });
      const watch = this.watch(id, progress);
      try {
        // The document may change meanwhile; and nobody answers yet whoever cancels.
        await Promise.race([this.server.ready(), cancelled(token)]);
        return await this.server.execute<EditResult>(EDIT, params(ask, id, manner), id);
      } finally {
        watch.dispose();
      }
    });
  }

  /** Keep a progress display up to date until disposed of. */
  private watch(
    id: string,
    progress: Progress<{ message: string; increment?: number }>,
  ): Disposable {
    progress.report({ message: "waiting for the model" });
    const waiting = this.server.onDidChange(() => {
      const isLoading = this.server.status?.model.state === "loading";
      progress.report({ message: isLoading ? "loading the model" : "waiting for the model" });
    });
    const steps = new Steps();
    this.running.set(id, (partial) => {
      waiting.dispose();
      progress.report({ message: told(partial), increment: steps.to(partial) });
      this.become(partial.tokensPerSecond);
    });
    this.become(0);
    return {
      dispose: () => {
        waiting.dispose();
        this.running.delete(id);
        this.become(this.running.size > 0 ? 0 : undefined);
      },
    };
  }

  private become(speed: number | undefined): void {
    this.speed = speed;
    this.changed.fire();
  }
}

/** Fails as a cancelled edit does, when the user cancels. */
function cancelled(token: CancellationToken): Promise<never> {
  return new Promise((_, reject) => {
    token.onCancellationRequested(() => {
      reject(Object.assign(new Error("cancelled"), { code: ErrorCode.CANCELLED }));
    });
  });
}

function params({ document, range, wanted }: Ask, id: string, manner: Manner): EditParams {
  return {
    ...wanted,
    uri: document.uri.toString(),
    version: document.version,
    ...(range === undefined ? {} : { range: plain(range) }),
    preview: manner !== "apply",
    partial: true,
    id,
  };
}
