/**
 * What an edit is asked for: a place in a document, and an instruction.
 *
 * The place moves with the document, so that an edit can be asked for again after changes.
 */

import { basename } from "node:path";
import { type Disposable, Range, type TextDocument, workspace } from "vscode";
import { type Place, moved } from "./core/text";
import type * as protocol from "./protocol";

/** `title` names a saved action; without, the instruction is the name. */
export interface Wanted {
  readonly instruction: string;
  readonly title?: string;
  readonly scope?: protocol.Scope;
}

/** One wish for an edit; its place is kept up to date while it lives. */
export class Ask implements Disposable {
  isLive = true;
  private readonly place: Moving | undefined;

  /** Without a range, the edit has no place in the document. */
  constructor(
    readonly document: TextDocument,
    range: Range | undefined,
    readonly wanted: Wanted,
  ) {
    this.place =
      range &&
      new Moving(document, range, () => {
        this.dispose();
      });
  }

  /** The place in the document as it is now. */
  get range(): Range | undefined {
    return this.place?.range;
  }

  /** The file, as displays name it. */
  get file(): string {
    return basename(this.document.uri.path);
  }

  /** The edit, as displays name it. */
  get label(): string {
    return this.wanted.title ?? this.wanted.instruction;
  }

  dispose(): void {
    this.isLive = false;
    this.place?.dispose();
  }
}

const KEPT = 20; // asks whose places are kept up to date

/** The last asks. */
export class Asks implements Disposable {
  private readonly kept: Ask[] = [];

  /** The one made last. */
  get last(): Ask | undefined {
    return this.kept.at(-1);
  }

  of(document: TextDocument, range: Range | undefined, wanted: Wanted): Ask {
    const ask = new Ask(document, range, wanted);
    this.kept.push(ask);
    if (this.kept.length > KEPT) {
      this.kept.shift()?.dispose();
    }
    return ask;
  }

  dispose(): void {
    for (const ask of this.kept) {
      ask.dispose();
    }
  }
}

/** A range that moves with its document. */
class Moving implements Disposable {
  private place: Place;
  private readonly listeners: Disposable[];

  constructor(
    private readonly document: TextDocument,
    range: Range,
    closed: () => void,
  ) {
    this.place = { start: document.offsetAt(range.start), end: document.offsetAt(range.end) };
    this.listeners = [
      workspace.onDidChangeTextDocument((event) => {
        if (event.document === document) {
          for (const { rangeOffset: offset, rangeLength: length, text } of event.contentChanges) {
            this.place = moved(this.place, { offset, length, text });
          }
        }
      }),
      workspace.onDidCloseTextDocument((other) => {
        if (other === document) {
          closed();
        }
      }),
    ];
  }

  get range(): Range {
    const { start, end } = this.place;
    return new Range(this.document.positionAt(start), this.document.positionAt(end));
  }

  dispose(): void {
    for (const listener of this.listeners) {
      listener.dispose();
    }
  }
}

/** A range as the protocol writes it. */
export function plain({ start, end }: Range): protocol.Range {
  return {
    start: { line: start.line, character: start.character },
    end: { line: end.line, character: end.character },
  };
}

/** A range of the protocol as VS Code's. */
export function rangeOf({ start, end }: protocol.Range): Range {
  return new Range(start.line, start.character, end.line, end.character);
}
