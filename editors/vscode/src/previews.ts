/**
 * Changes that wait for the user's decision, each shown as a diff of the file and of the result.
 *
 * At most one for a document. Knows how they are shown and closed, not what accepting one does.
 */

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
import { formatDiffTitle } from "./core/format";
import { applyEdits, findChangedLine } from "./core/text";
import type { EditRequest } from "./editRequests";
import type { EditPreview } from "./protocol";
import { closeTabs, getTabUri } from "./tabs";

export const SCHEME = "redraft-preview";

export interface Preview {
  readonly request: EditRequest;
  readonly base: string; // the document's text that the edits of `result` are for
  readonly result: EditPreview;
  readonly proposed: string;
  readonly proposedUri: Uri;
  readonly column: ViewColumn;
}

export class Previews implements Disposable {
  private readonly previews = new Map<string, Preview>(); // by the document's URI
  private readonly changed = new EventEmitter<void>();
  private readonly tabClosed = new EventEmitter<Preview>();
  private readonly registered: Disposable[];
  private nShown = 0;

  readonly onDidChange = this.changed.event;
  /** The user closed a preview's tab. */
  readonly onDidCloseTab = this.tabClosed.event;

  constructor() {
    this.registered = [
      workspace.registerTextDocumentContentProvider(SCHEME, {
        provideTextDocumentContent: (uri) => this.findByUri(uri)?.proposed,
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
    ];
    // VS Code reopens the tabs of the last session, whose texts are gone.
    void closeTabs(({ scheme }) => scheme === SCHEME);
    this.refresh();
  }

  get count(): number {
    return this.previews.size;
  }

  /** Show what `result` makes of the document as it is now, in the place of an earlier preview. */
  async show(request: EditRequest, result: EditPreview): Promise<void> {
    const { document } = request;
    await this.close(this.findByUri(document.uri));
    const base = document.getText();
    const preview: Preview = {
      request,
      base,
      result,
      proposed: applyEdits(base, result.edits),
      // The query makes each one new: VS Code would show an older text of the same URI.
      proposedUri: document.uri.with({ scheme: SCHEME, query: String(++this.nShown) }),
      column: window.activeTextEditor?.viewColumn ?? ViewColumn.Active,
    };
    this.previews.set(document.uri.toString(), preview);
    const proposed = await workspace.openTextDocument(preview.proposedUri);
    if (proposed.languageId !== document.languageId) {
      await languages.setTextDocumentLanguage(proposed, document.languageId);
    }
    await this.reveal(preview);
    this.refresh();
  }

  /** Bring the diff to the front, at the first change of what was to be edited. */
  async reveal(preview: Preview): Promise<void> {
    const { document, label, fileName } = preview.request;
    const title = formatDiffTitle(fileName, label);
    const { edits, target } = preview.result;
    const line = findChangedLine(edits, target).after;
    // Not in a preview tab: it would take the place of the file's own.
    const options = {
      preview: false,
      viewColumn: preview.column,
      selection: new Range(line, 0, line, 0),
    };
    await commands.executeCommand("vscode.diff", document.uri, preview.proposedUri, title, options);
  }

  /** Return the preview of `uri`; without one that of the active tab, or the only one there is. */
  find(uri?: Uri): Preview | undefined {
    if (uri !== undefined) {
      return this.findByUri(uri);
    }
    const { activeTab } = window.tabGroups.activeTabGroup;
    const activeUri = activeTab && getTabUri(activeTab);
    return (
      (activeUri && this.findByUri(activeUri)) ??
      (this.count === 1 ? [...this.previews.values()][0] : undefined)
    );
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
    // After other changes of the file, the line of the first change is known only roughly.
    const isProposed = document.uri.scheme === SCHEME;
    const isMoved = !isProposed && document.getText() !== preview.base;
    const { before, after } = findChangedLine(preview.result.edits, preview.result.target);
    const line = isMoved ? preview.request.range?.start.line : isProposed ? after : before;
    const place = new Range(line ?? 0, 0, line ?? 0, 0);
    const uri = preview.request.document.uri;
    const lenses = [
      { title: "$(check) Accept", command: "redraft.accept", arguments: [uri] },
      { title: "$(close) Reject", command: "redraft.reject", arguments: [uri] },
      { title: "$(refresh) Retry...", command: "redraft.retry", arguments: [uri] },
    ];
    if (!isProposed) {
      lenses.push({ title: "$(diff) Show Diff", command: "redraft.showDiff", arguments: [uri] });
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
