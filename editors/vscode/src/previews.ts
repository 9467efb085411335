/**
 * Changes that wait for the user's decision, each shown as a diff of the file and of the result.
 *
 * At most one for a document. It moves along with changes elsewhere in the document. Knows how they
 * are shown and closed, not what accepting one does.
 */

import {
  CodeLens,
  type Disposable,
  EventEmitter,
  Range,
  type Tab,
  type TextDocument,
  type TextDocumentChangeEvent,
  Uri,
  ViewColumn,
  commands,
  languages,
  window,
  workspace,
} from "vscode";
import { formatDiffTitle } from "./core/format";
import {
  type Change,
  applyChanges,
  findChangedLine,
  findMainEdit,
  moveChanges,
  toChanges,
} from "./core/text";
import { type EditRequest, toProtocolRange } from "./editRequests";
import type { EditPreview, TextEdit } from "./protocol";
import { closeTabs, findTab, getTabUri } from "./tabs";

export const SCHEME = "redraft-preview";

export class Preview {
  /** The text that `changes` are for: the document's, unless code that is to change was changed. */
  base: string;
  private changes: readonly Change[];
  private readonly main: number; // the first change of the target
  column = ViewColumn.Active;

  constructor(
    readonly request: EditRequest,
    readonly result: EditPreview,
    readonly proposedUri: Uri,
  ) {
    this.base = request.document.getText();
    this.changes = toChanges(this.base, result.edits);
    this.main = findMainEdit(result.edits, result.target);
  }

  /** The text after the changes. */
  get proposed(): string {
    return applyChanges(this.base, this.changes);
  }

  /** The line of the first change of the target, before and after. */
  get line(): { readonly before: number; readonly after: number } {
    return findChangedLine(this.base, this.changes, this.main);
  }

  /** Return the changes as edits of `document`, which has the text `base`. */
  buildEdits(document: TextDocument): TextEdit[] {
    return this.changes.map(({ offset, length, text }) => {
      const [start, end] = [document.positionAt(offset), document.positionAt(offset + length)];
      return { range: toProtocolRange(new Range(start, end)), newText: text };
    });
  }

  /** Move the changes past those of the document; return false where one of them was touched. */
  update({ document, contentChanges }: TextDocumentChangeEvent): boolean {
    const text = document.getText();
    let base = this.base;
    let moved: readonly Change[] | undefined = this.changes;
    // VS Code sends them from the last to the first: none moves the offset of the next.
    for (const { rangeOffset: offset, rangeLength: length, text: newText } of contentChanges) {
      const change = { offset, length, text: newText };
      moved = moved && moveChanges(base, moved, change);
      base = applyChanges(base, [change]);
    }
    // Once a line was touched, the document has to become what it was: undoing helps.
    if (moved === undefined || base !== text) {
      return text === this.base;
    }
    this.base = text;
    this.changes = moved;
    return true;
  }
}

export class Previews implements Disposable {
  private readonly previews = new Map<string, Preview>(); // by the document's URI
  private readonly changed = new EventEmitter<void>();
  private readonly tabClosed = new EventEmitter<Preview>();
  private readonly textChanged = new EventEmitter<Uri>();
  private readonly registered: Disposable[];
  private nShown = 0;

  readonly onDidChange = this.changed.event;
  /** The user closed a preview's tab. */
  readonly onDidCloseTab = this.tabClosed.event;

  constructor() {
    this.registered = [
      workspace.registerTextDocumentContentProvider(SCHEME, {
        onDidChange: this.textChanged.event,
        provideTextDocumentContent: (uri) => this.findByUri(uri)?.proposed,
      }),
      workspace.onDidChangeTextDocument((event) => {
        const preview = this.previews.get(event.document.uri.toString());
        if (preview?.update(event)) {
          this.textChanged.fire(preview.proposedUri);
          this.changed.fire();
        }
      }),
      languages.registerCodeLensProvider(
        [{ scheme: SCHEME }, { scheme: "file" }, { scheme: "untitled" }],
        {
          onDidChangeCodeLenses: this.changed.event,
          provideCodeLenses: (document) => this.buildLenses(document),
        },
      ),
      window.tabGroups.onDidChangeTabs(({ closed }) => {
        this.handleClosedTabs(closed);
      }),
      this.changed,
      this.tabClosed,
      this.textChanged,
    ];
    // VS Code reopens the tabs of the last session, whose texts are gone.
    void closeTabs(({ scheme }) => scheme === SCHEME);
    this.refresh();
  }

  get count(): number {
    return this.previews.size;
  }

  /** Keep `result`, for the document as it is now, in the place of an earlier preview. */
  async add(request: EditRequest, result: EditPreview): Promise<Preview> {
    const { document } = request;
    await this.close(this.findByUri(document.uri));
    // The query makes each one new: VS Code would show an older text of the same URI.
    const uri = document.uri.with({
      scheme: SCHEME,
      query: String(++this.nShown),
    });
    const preview = new Preview(request, result, uri);
    this.previews.set(document.uri.toString(), preview);
    this.refresh();
    return preview;
  }

  /** Bring the diff to the front, at the first change of what was to be edited. */
  async reveal(preview: Preview): Promise<void> {
    const { document, label, fileName } = preview.request;
    const proposed = await workspace.openTextDocument(preview.proposedUri);
    if (proposed.languageId !== document.languageId) {
      await languages.setTextDocumentLanguage(proposed, document.languageId);
    }
    const tab = findTab(preview.proposedUri);
    preview.column =
      tab?.group.viewColumn ?? window.activeTextEditor?.viewColumn ?? ViewColumn.Active;
    const title = formatDiffTitle(fileName, label);
    const line = preview.line.after;
    // Not in a preview tab: it would take the place of the file's own.
    const options = {
      preview: false,
      viewColumn: preview.column,
      selection: new Range(line, 0, line, 0),
    };
    await commands.executeCommand("vscode.diff", document.uri, preview.proposedUri, title, options);
  }

  /** The preview that has waited longest. */
  get first(): Preview | undefined {
    return this.previews.values().next().value;
  }

  /** Return the preview of `uri`; without one that of the active tab, or the only one there is. */
  find(uri?: Uri): Preview | undefined {
    if (uri !== undefined) {
      return this.findByUri(uri);
    }
    const { activeTab } = window.tabGroups.activeTabGroup;
    const activeUri = activeTab && getTabUri(activeTab);
    return (activeUri && this.findByUri(activeUri)) ?? (this.count === 1 ? this.first : undefined);
  }

  /** Remove the preview and close its tab. */
  async close(preview: Preview | undefined): Promise<void> {
    if (preview === undefined || !this.remove(preview)) {
      return;
    }
    await closeTabs((uri) => isSame(uri, preview.proposedUri));
  }

  dispose(): void {
    for (const disposable of this.registered) {
      disposable.dispose();
    }
  }

  /** Return the preview with this document, or with this proposed text. */
  private findByUri(uri: Uri): Preview | undefined {
    return uri.scheme === SCHEME
      ? [...this.previews.values()].find(({ proposedUri }) => isSame(proposedUri, uri))
      : this.previews.get(uri.toString());
  }

  /** Return the buttons above the first change, the same in the diff and in the file itself. */
  private buildLenses(document: TextDocument): CodeLens[] {
    const preview = this.findByUri(document.uri);
    if (preview === undefined) {
      return [];
    }
    const isProposed = document.uri.scheme === SCHEME;
    const line = isProposed ? preview.line.after : preview.line.before;
    const place = new Range(line, 0, line, 0);
    const uri = preview.request.document.uri;
    const lenses = [
      { title: "$(check) Accept", command: "redraft.accept", arguments: [uri] },
      { title: "$(close) Reject", command: "redraft.reject", arguments: [uri] },
      {
        title: "$(refresh) Retry...",
        command: "redraft.retry",
        arguments: [uri],
      },
    ];
    if (!isProposed) {
      lenses.push({
        title: "$(diff) Show Diff",
        command: "redraft.showDiff",
        arguments: [uri],
      });
    }
    return lenses.map((command) => new CodeLens(place, command));
  }

  /** Remove the preview; return false where it was removed before. */
  private remove(preview: Preview): boolean {
    const uri = preview.request.document.uri.toString();
    // Not one that came for the same document in the meantime.
    const isOpen = this.previews.get(uri) === preview;
    if (isOpen) {
      this.previews.delete(uri);
      this.refresh();
    }
    return isOpen;
  }

  private handleClosedTabs(closed: readonly Tab[]): void {
    for (const tab of closed) {
      const uri = getTabUri(tab);
      const preview = uri?.scheme === SCHEME ? this.findByUri(uri) : undefined;
      if (preview !== undefined && this.remove(preview)) {
        this.tabClosed.fire(preview);
      }
    }
  }

  private refresh(): void {
    void commands.executeCommand("setContext", "redraft.hasPreview", this.previews.size > 0);
    this.changed.fire();
  }
}

function isSame(uri: Uri, other: Uri): boolean {
  return uri.toString() === other.toString();
}
