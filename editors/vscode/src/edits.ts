/** Running edits: requested from the server with a progress display, then previewed or applied. */

import {
  type CancellationToken,
  type Disposable,
  EventEmitter,
  Location,
  Position,
  type Progress,
  ProgressLocation,
  WorkspaceEdit,
  commands,
  window,
  workspace,
} from "vscode";
import { shorten } from "./core/format";
import * as notices from "./core/notices";
import { ProgressIncrements, describeProgress } from "./core/progress";
import {
  type EditRequest,
  type EditRequests,
  type EditTask,
  fromProtocolRange,
  toProtocolRange,
} from "./editRequests";
import { type ButtonHandlers, showNotice } from "./notify";
import { Presence } from "./presence";
import type { Preview, Previews } from "./previews";
import {
  CANCEL_NOTIFICATION,
  EDIT,
  type EditParams,
  type EditResult,
  ErrorCode,
  type OutdatedUse,
  type Partial,
  type TextEdit,
} from "./protocol";
import { NotReadyError, type Server } from "./server";

/** The setting `redraft.preview`: what happens with a change once the model has written it. */
type PreviewMode = "diff" | "refactorPreview" | "apply";

export class Edits implements Disposable {
  private readonly running = new Map<string, (partial: Partial) => void>(); // by the edit's id
  private readonly changed = new EventEmitter<void>();
  private nStarted = 0;
  /** How fast the model writes, in tokens/s: 0 before it does, undefined without an edit. */
  speed: number | undefined;
  readonly onDidChange = this.changed.event;

  /**
   * `retry` asks for another instruction for the same range, `isPrompting` is true while the user
   * types one.
   */
  constructor(
    private readonly server: Server,
    private readonly requests: EditRequests,
    private readonly previews: Previews,
    private readonly retry: (request: EditRequest) => unknown,
    private readonly isPrompting: () => boolean,
  ) {}

  /** Run `request` and present its outcome; failures are shown, not thrown. */
  async run(request: EditRequest): Promise<void> {
    const mode = workspace.getConfiguration("redraft").get<PreviewMode>("preview", "diff");
    const presence = new Presence();
    try {
      const result = await this.compute(request, mode);
      await this.present(request, result, mode, presence.hasStayed && !this.isPrompting());
    } catch (error) {
      if (!(error instanceof NotReadyError)) {
        this.notifyFailure(request, notices.readFailure(error), mode);
      }
    } finally {
      presence.dispose();
    }
  }

  /** Run the same task once more, or `task`, for the range as it is now. */
  async rerun(request: EditRequest, task: EditTask = request.task): Promise<void> {
    if (request.isLive) {
      await this.run(this.requests.create(request.document, request.range, task));
    } else {
      await showNotice(notices.PLACE_IS_GONE);
    }
  }

  /** Cancel all running edits. */
  cancelAll(): void {
    this.server.notify(CANCEL_NOTIFICATION, {});
  }

  /** Show how far a running edit is. */
  updateProgress(partial: Partial): void {
    this.running.get(partial.id)?.(partial);
  }

  /** Show `notice`, with buttons that go on with `request`. */
  notify(notice: notices.Notice, request: EditRequest, handlers: ButtonHandlers = {}): void {
    void showNotice(notice, {
      rerun: () => this.rerun(request),
      retry: () => this.retry(request),
      version: () => this.rerun(request, { ...request.task, anotherVersion: true }),
      ...handlers,
    });
  }

  /** Show that an edit was applied, and the lines that it leaves behind, if any. */
  notifyApplied(request: EditRequest, { callers }: EditResult): void {
    this.notify(notices.APPLIED, request);
    if (callers.length > 0) {
      this.notify(notices.createCallersNotice(request.fileName, callers), request, {
        callers: () => showCallers(request, callers),
      });
    }
  }

  /**
   * Apply `edits`, whose positions are those of the document as it is now, as one undo step.
   *
   * With `confirm`, VS Code shows them in its own preview first. Returns false where VS Code or the
   * user refuses.
   */
  async apply(
    request: EditRequest,
    edits: readonly TextEdit[],
    confirm?: "confirm",
  ): Promise<boolean> {
    const label = `redraft: ${shorten(request.label)}`;
    const change = new WorkspaceEdit();
    for (const { range, newText } of edits) {
      const metadata = confirm && { label, needsConfirmation: true };
      change.replace(request.document.uri, fromProtocolRange(range), newText, metadata);
    }
    return workspace.applyEdit(change);
  }

  /** Show a preview; one that VS Code does not show is kept, for another try. */
  async show(preview: Preview): Promise<void> {
    try {
      await this.previews.reveal(preview);
    } catch (error) {
      const { message } = notices.readFailure(error);
      const show = (): unknown => this.show(preview);
      this.notify(notices.createNotShownNotice(message), preview.request, { show });
    }
  }

  dispose(): void {
    this.changed.dispose();
  }

  /** Present an outcome; a preview only where it `mayOpen`: else it is announced and kept. */
  private async present(
    request: EditRequest,
    result: EditResult,
    mode: PreviewMode,
    mayOpen: boolean,
  ): Promise<void> {
    for (const note of result.notes) {
      void showNotice(notices.createNotice("info", note, []));
    }
    if (result.outcome !== "preview") {
      if (result.outcome === "applied") {
        this.notifyApplied(request, result);
      } else {
        const asked = request.task.anotherVersion === true;
        this.notify(notices.createUnchangedNotice(asked), request);
      }
    } else if (result.version !== request.document.version) {
      this.notify(notices.createOutdatedNotice(request.fileName), request);
    } else if (mode === "diff" || (mode === "refactorPreview" && !mayOpen)) {
      const preview = this.previews.add(request, result);
      this.notify(notices.createCostNotice(result.stats), request);
      if (mayOpen) {
        await this.show(preview);
      } else {
        const show = (): unknown => this.show(preview);
        this.notify(notices.createReadyNotice(request.fileName), request, { show });
      }
    } else {
      if (await this.apply(request, result.edits, "confirm")) {
        this.notifyApplied(request, result);
      } else {
        this.notify(notices.REJECTED, request);
      }
    }
  }

  /** Show why there is no edit; one that was refused can be looked at, and then applied anyway. */
  private notifyFailure(request: EditRequest, failure: notices.Failure, mode: PreviewMode): void {
    const { withheld } = failure;
    const handlers: ButtonHandlers = withheld
      ? { anyway: () => this.present(request, withheld, mode === "apply" ? "diff" : mode, true) }
      : {};
    this.notify(notices.createFailureNotice(failure), request, handlers);
  }

  /** Have the server compute the edit, with a progress notification. */
  private async compute(request: EditRequest, mode: PreviewMode): Promise<EditResult> {
    const id = `vscode-${++this.nStarted}`;
    const options = {
      location: ProgressLocation.Notification,
      title: `redraft: ${shorten(request.label)}`,
      cancellable: true,
    };
    return window.withProgress(options, async (progress, token) => {
      token.onCancellationRequested(() => {
        this.server.notify(CANCEL_NOTIFICATION, { id });
      });
      const tracker = this.trackProgress(id, progress);
      try {
        // A server that is starting does not answer a cancellation yet. The parameters are built
        // when it is ready: the document may have changed by then.
        await Promise.race([this.server.whenReady(), rejectOnCancel(token)]);
        return await this.server.execute<EditResult>(EDIT, buildParams(request, id, mode), id);
      } finally {
        tracker.dispose();
      }
    });
  }

  /** Keep a progress display up to date until disposed of. */
  private trackProgress(
    id: string,
    progress: Progress<{ message: string; increment?: number }>,
  ): Disposable {
    progress.report({ message: "waiting for the model" });
    const statusListener = this.server.onDidChange(() => {
      const isLoading = this.server.status?.model.state === "loading";
      progress.report({ message: isLoading ? "loading the model" : "waiting for the model" });
    });
    const increments = new ProgressIncrements();
    this.running.set(id, (partial) => {
      statusListener.dispose(); // from now on the edit reports by itself
      progress.report({
        message: describeProgress(partial),
        increment: increments.advance(partial),
      });
      this.setSpeed(partial.tokensPerSecond);
    });
    this.setSpeed(0);
    return {
      dispose: () => {
        statusListener.dispose();
        this.running.delete(id);
        this.setSpeed(this.running.size > 0 ? 0 : undefined);
      },
    };
  }

  private setSpeed(speed: number | undefined): void {
    this.speed = speed;
    this.changed.fire();
  }
}

/** Return a promise that fails when the user cancels, as a cancelled edit does. */
function rejectOnCancel(token: CancellationToken): Promise<never> {
  return new Promise((_, reject) => {
    token.onCancellationRequested(() => {
      reject(Object.assign(new Error("cancelled"), { code: ErrorCode.CANCELLED }));
    });
  });
}

/** Show the lines in a list to go through, with the code around each. */
async function showCallers(
  { document, range }: EditRequest,
  callers: readonly OutdatedUse[],
): Promise<void> {
  const locations = callers.map((use) => new Location(document.uri, fromProtocolRange(use.range)));
  const place = range?.start ?? new Position(0, 0);
  await commands.executeCommand("editor.action.showReferences", document.uri, place, locations);
}

function buildParams(
  { document, range, task }: EditRequest,
  id: string,
  mode: PreviewMode,
): EditParams {
  return {
    ...task,
    uri: document.uri.toString(),
    version: document.version,
    ...(range === undefined ? {} : { range: toProtocolRange(range) }),
    preview: mode !== "apply",
    partial: true,
    id,
  };
}
