/**
 * Changes that wait for the user's decision, each shown as a diff of the file and of the result.
 *
 * A document may have several. They move along with changes elsewhere in it. Knows how they are shown
 * and closed, not what accepting one does.
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
  private readonly previews = new Set<Preview>(); // the oldest first
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
        for (const preview of this.list(event.document.uri)) {
          if (preview.update(event)) {
            this.textChanged.fire(preview.proposedUri);
            this.changed.fire();
          }
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

  /** Keep `result`, for the document as it is now. */
  add(request: EditRequest, result: EditPreview): Preview {
    const { document } = request;
    // The query makes each one new: VS Code would show an older text of the same URI.
    const uri = document.uri.with({
      scheme: SCHEME,
      query: String(++this.nShown),
    });
    const preview = new Preview(request, result, uri);
    this.previews.add(preview);
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

  /** Remove the previews of a document that are not for its text. */
  async closeOutdated(document: TextDocument): Promise<void> {
    const text = document.getText();
    const outdated = this.list(document.uri).filter(({ base }) => base !== text);
    await Promise.all(outdated.map((preview) => this.close(preview)));
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

  /** Return the nearest preview of this document, or the one with this proposed text. */
  private findByUri(uri: Uri): Preview | undefined {
    return uri.scheme === SCHEME
      ? [...this.previews].find(({ proposedUri }) => isSame(proposedUri, uri))
      : this.findNearest(this.list(uri));
  }

  /** Return the previews of the document, or the one with this proposed text. */
  private list(uri: Uri): Preview[] {
    return [...this.previews].filter(({ request, proposedUri }) =>
      isSame(uri.scheme === SCHEME ? proposedUri : request.document.uri, uri),
    );
  }

  /** Return the preview whose change begins nearest to the cursor; the first without a cursor. */
  private findNearest(previews: readonly Preview[]): Preview | undefined {
    const editor = window.activeTextEditor;
    const row = editor?.selection.active.line ?? 0;
    const getDistance = ({ request, line }: Preview): number =>
      request.document === editor?.document ? Math.abs(line.before - row) : 0;
    return [...previews].sort((a, b) => getDistance(a) - getDistance(b))[0];
  }

  /** Return the buttons above each first change, the same in the diff and in the file itself. */
  private buildLenses(document: TextDocument): CodeLens[] {
    return this.list(document.uri).flatMap((preview) => {
      const isProposed = document.uri.scheme === SCHEME;
      const line = isProposed ? preview.line.after : preview.line.before;
      const place = new Range(line, 0, line, 0);
      const uri = preview.proposedUri;
      const lenses = [
        { title: "$(check) Accept", command: "redraft.accept", arguments: [uri] },
        { title: "$(close) Reject", command: "redraft.reject", arguments: [uri] },
        { title: "$(refresh) Retry...", command: "redraft.retry", arguments: [uri] },
      ];
      if (!isProposed) {
        lenses.push({ title: "$(diff) Show Diff", command: "redraft.showDiff", arguments: [uri] });
      }
      return lenses.map((command) => new CodeLens(place, command));
    });
  }

  /** Remove the preview; return false where it was removed before. */
  private remove(preview: Preview): boolean {
    const isOpen = this.previews.delete(preview);
    if (isOpen) {
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
