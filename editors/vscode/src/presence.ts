/**
 * Whether the user has stayed where an edit was asked for. Only then may its preview open by
 * itself: to everybody else it would come between them and the keys they type.
 *
 * VS Code does not tell extensions when a terminal or a view has the focus.
 */

import { type Disposable, type TextDocument, window, workspace } from "vscode";

export class Presence implements Disposable {
  private readonly document: TextDocument | undefined;
  private readonly listeners: Disposable[];
  private hasLeft = false;

  /** Watch from now on. */
  constructor() {
    this.document = window.activeTextEditor?.document;
    this.listeners = [
      window.onDidChangeActiveTextEditor((editor) => {
        this.hasLeft ||= editor?.document !== this.document;
      }),
      // Without a kind, it was not the user who moved the cursor.
      window.onDidChangeTextEditorSelection(({ kind }) => {
        this.hasLeft ||= kind !== undefined;
      }),
      workspace.onDidChangeTextDocument(({ document }) => {
        this.hasLeft ||= document === window.activeTextEditor?.document;
      }),
    ];
  }

  /** Whether the same document is looked at, and was neither typed in nor walked through. */
  get hasStayed(): boolean {
    return !this.hasLeft && window.activeTextEditor?.document === this.document;
  }

  dispose(): void {
    for (const listener of this.listeners) {
      listener.dispose();
    }
  }
}
