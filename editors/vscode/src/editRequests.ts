/**
 * What an edit is requested with: a range of a document, and an instruction.
 *
 * The range moves with the document, so that an edit can be requested again after changes.
 */

import { basename } from "node:path";
import { type Disposable, Range, type TextDocument, workspace } from "vscode";
import { type Span, moveSpan } from "./core/text";
import type * as protocol from "./protocol";

/** What the model is to do; `title` is the name of a saved action, where it is one. */
export interface EditTask {
  readonly instruction: string;
  readonly title?: string;
  readonly scope?: protocol.Scope;
  readonly anotherVersion?: boolean;
}

/** One request for an edit; its range is kept up to date until it is disposed of. */
export class EditRequest implements Disposable {
  isLive = true;
  private readonly trackedRange: TrackedRange | undefined;

  /** Without a range, the request is for the whole document. */
  constructor(
    readonly document: TextDocument,
    range: Range | undefined,
    readonly task: EditTask,
  ) {
    this.trackedRange =
      range &&
      new TrackedRange(document, range, () => {
        this.dispose();
      });
  }

  /** The range in the document as it is now. */
  get range(): Range | undefined {
    return this.trackedRange?.range;
  }

  /** The file, as displays name it. */
  get fileName(): string {
    return basename(this.document.uri.path);
  }

  /** The edit, as displays name it. */
  get label(): string {
    return this.task.title ?? this.task.instruction;
  }

  dispose(): void {
    this.isLive = false;
    this.trackedRange?.dispose();
  }
}

const MAX_REQUESTS = 20;

/** The last requests, whose ranges are kept up to date. */
export class EditRequests implements Disposable {
  private readonly requests: EditRequest[] = [];

  /** The newest request. */
  get last(): EditRequest | undefined {
    return this.requests.at(-1);
  }

  create(document: TextDocument, range: Range | undefined, task: EditTask): EditRequest {
    const request = new EditRequest(document, range, task);
    this.requests.push(request);
    if (this.requests.length > MAX_REQUESTS) {
      this.requests.shift()?.dispose();
    }
    return request;
  }

  dispose(): void {
    for (const request of this.requests) {
      request.dispose();
    }
  }
}

/** A range that moves with its document. */
class TrackedRange implements Disposable {
  private span: Span;
  private readonly listeners: Disposable[];

  constructor(
    private readonly document: TextDocument,
    range: Range,
    onClose: () => void,
  ) {
    this.span = { start: document.offsetAt(range.start), end: document.offsetAt(range.end) };
    this.listeners = [
      workspace.onDidChangeTextDocument((event) => {
        if (event.document === document) {
          // VS Code sends them from the last to the first: none moves the offset of the next.
          for (const { rangeOffset: offset, rangeLength: length, text } of event.contentChanges) {
            this.span = moveSpan(this.span, { offset, length, text });
          }
        }
      }),
      workspace.onDidCloseTextDocument((closed) => {
        if (closed === document) {
          onClose();
        }
      }),
    ];
  }

  get range(): Range {
    const { start, end } = this.span;
    return new Range(this.document.positionAt(start), this.document.positionAt(end));
  }

  dispose(): void {
    for (const listener of this.listeners) {
      listener.dispose();
    }
  }
}

/** Return VS Code's range as the protocol's. */
export function toProtocolRange({ start, end }: Range): protocol.Range {
  return {
    start: { line: start.line, character: start.character },
    end: { line: end.line, character: end.character },
  };
}

/** Return the protocol's range as VS Code's. */
export function fromProtocolRange({ start, end }: protocol.Range): Range {
  return new Range(start.line, start.character, end.line, end.character);
}
