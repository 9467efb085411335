/**
 * Changes that wait for the user's word: each a diff of the file and of what it would become.
 *
 * At most one for a document. Knows how they are shown and closed, not what accepting one does.
 */

import { basename } from "node:path";
import {
  CodeLens,
  type Disposable,
  EventEmitter,
  Range,
  type Tab,
  type TextDocument,
  Uri,
  ViewColumn,
  commands,
  languages,
  window,
  workspace,
} from "vscode";
import type { Ask } from "./editRequests";
import { applyEdits, firstChangedLine } from "./core/text";
import { diffTitle } from "./core/format";
import type { TextEdit } from "./protocol";
import { closeTabs, shownIn } from "./tabs";

export const SCHEME = "redraft-preview";

/** A change of `base`, the document's text when it was made. */
export interface Preview {
  readonly ask: Ask;
  readonly base: string;
  readonly edits: readonly TextEdit[];
  readonly proposed: string;
  readonly shown: Uri; // of the proposed text
  readonly column: ViewColumn;
}

export class Previews implements Disposable {
  private readonly open = new Map<string, Preview>(); // by the document's URI
  private readonly changed = new EventEmitter<void>();
  private readonly rejected = new EventEmitter<Preview>();
  private readonly registered: Disposable[];
  private n = 0;

  readonly onDidChange = this.changed.event;
  /** The user closed a preview's tab. */
  readonly onDidCloseTab = this.rejected.event;

  constructor() {
    this.registered = [
      workspace.registerTextDocumentContentProvider(SCHEME, {
        provideTextDocumentContent: (uri) => this.of(uri)?.proposed,
      }),
      languages.registerCodeLensProvider(
        [{ scheme: SCHEME }, { scheme: "file" }, { scheme: "untitled" }],
        {
          onDidChangeCodeLenses: this.changed.event,
          provideCodeLenses: (document) => this.lenses(document),
        },
      ),
      window.tabGroups.onDidChangeTabs(({ closed }) => {
        this.tabsClosed(closed);
      }),
      this.changed,
      this.rejected,
    ];
    void closeTabs(({ scheme }) => scheme === SCHEME); // of a former session, whose texts are gone
    this.refresh();
  }

  get count(): number {
    return this.open.size;
  }

  /** Show what `edits` make of the document as it is now. */
  async show(ask: Ask, edits: readonly TextEdit[]): Promise<void> {
    const { document } = ask;
    await this.close(this.of(document.uri));
    const base = document.getText();
    const preview: Preview = {
      ask,
      base,
      edits,
      proposed: applyEdits(base, edits),
      shown: document.uri.with({ scheme: SCHEME, query: String(++this.n) }),
      column: window.activeTextEditor?.viewColumn ?? ViewColumn.Active,
    };
    this.open.set(document.uri.toString(), preview);
    const proposed = await workspace.openTextDocument(preview.shown);
    if (proposed.languageId !== document.languageId) {
      await languages.setTextDocumentLanguage(proposed, document.languageId);
    }
    await this.reveal(preview);
    this.refresh();
  }

  /** Bring the diff to the front, at its first change. */
  async reveal(preview: Preview): Promise<void> {
    const { document, label } = preview.ask;
    const title = diffTitle(basename(document.uri.path), label);
    const line = firstChangedLine(preview.edits);
    // Not in a preview tab: it would take the place of the file's own.
    const options = {
      preview: false,
      viewColumn: preview.column,
      selection: new Range(line, 0, line, 0),
    };
    await commands.executeCommand("vscode.diff", document.uri, preview.shown, title, options);
  }

  /** The preview that a command is about: of `uri`, of the active tab, or the only one. */
  find(uri?: Uri): Preview | undefined {
    if (uri !== undefined) {
      return this.of(uri);
    }
    const { activeTab } = window.tabGroups.activeTabGroup;
    const active = activeTab && shownIn(activeTab);
    return (
      (active && this.of(active)) ?? (this.count === 1 ? [...this.open.values()][0] : undefined)
    );
  }

  /** Take it away; its tab too. */
  async close(preview: Preview | undefined): Promise<void> {
    if (preview === undefined || !this.forget(preview)) {
      return;
    }
    await closeTabs((shown) => isSame(shown, preview.shown));
  }

  dispose(): void {
    for (const each of this.registered) {
      each.dispose();
    }
  }

  /** The preview of a document, or the one that a proposed text belongs to. */
  private of(uri: Uri): Preview | undefined {
    return uri.scheme === SCHEME
      ? [...this.open.values()].find((each) => isSame(each.shown, uri))
      : this.open.get(uri.toString());
  }

  /** The same buttons above the first change, in the diff and in the file itself. */
  private lenses(document: TextDocument): CodeLens[] {
    const preview = this.of(document.uri);
    if (preview === undefined) {
      return [];
    }
    const isMoved = document.uri.scheme !== SCHEME && document.getText() !== preview.base;
    const line = isMoved ? preview.ask.range?.start.line : firstChangedLine(preview.edits);
    const place = new Range(line ?? 0, 0, line ?? 0, 0);
    const uri = preview.ask.document.uri;
    const lenses = [
      { title: "$(check) Accept", command: "redraft.accept", arguments: [uri] },
      { title: "$(close) Reject", command: "redraft.reject", arguments: [uri] },
      { title: "$(refresh) Retry...", command: "redraft.retry", arguments: [uri] },
    ];
    if (document.uri.scheme !== SCHEME) {
      lenses.push({ title: "$(diff) Show Diff", command: "redraft.showDiff", arguments: [uri] });
    }
    return lenses.map((command) => new CodeLens(place, command));
  }

  private forget(preview: Preview): boolean {
    const uri = preview.ask.document.uri.toString();
    const isOpen = this.open.get(uri) === preview;
    if (isOpen) {
      this.open.delete(uri);
      this.refresh();
    }
    return isOpen;
  }

  private tabsClosed(closed: readonly Tab[]): void {
    for (const tab of closed) {
      const uri = shownIn(tab);
      const preview = uri?.scheme === SCHEME ? this.of(uri) : undefined;
      if (preview !== undefined && this.forget(preview)) {
        this.rejected.fire(preview);
      }
    }
  }

  private refresh(): void {
    void commands.executeCommand("setContext", "redraft.hasPreview", this.open.size > 0);
    this.changed.fire();
  }
}

function isSame(one: Uri, other: Uri): boolean {
  return one.toString() === other.toString();
}
