/** Texts to read that belong to no file: the trace of an edit, the debug information. */

import {
  type Disposable,
  Range,
  type TextDocumentContentProvider,
  ThemeColor,
  Uri,
  languages,
  window,
  workspace,
} from "vscode";
import type { Rendered } from "./core/trace";
import { closeTabs } from "./tabs";

const SCHEME = "redraft-report";

export class Reports implements TextDocumentContentProvider, Disposable {
  private readonly texts = new Map<string, string>();
  private n = 0;
  private readonly guessed = window.createTextEditorDecorationType({});
  private readonly afresh = window.createTextEditorDecorationType({
    backgroundColor: new ThemeColor("diffEditor.insertedTextBackground"),
  });
  private readonly registered: readonly Disposable[] = [
    workspace.registerTextDocumentContentProvider(SCHEME, this),
    workspace.onDidCloseTextDocument(({ uri }) => this.texts.delete(uri.toString())),
    this.guessed,
    this.afresh,
  ];

  /** Show `text` in a tab called `name`, in the place of what that showed before. */
  async show(name: string, { text, marks }: Rendered, language: string): Promise<void> {
    await closeTabs(({ scheme, path }) => scheme === SCHEME && path === `/${name}`);
    const uri = Uri.from({ scheme: SCHEME, path: `/${name}`, query: String(++this.n) });
    this.texts.set(uri.toString(), text);
    const opened = await workspace.openTextDocument(uri);
    const editor = await window.showTextDocument(opened, { preview: true });
    for (const type of [this.guessed, this.afresh]) {
      const own = marks.filter(({ origin }) => (origin === null) === (type === this.afresh));
      const decorations = own.map(({ start, end, hover }) => ({
        range: new Range(opened.positionAt(start), opened.positionAt(end)),
        hoverMessage: hover,
      }));
      editor.setDecorations(type, decorations);
    }
    await languages.setTextDocumentLanguage(opened, language);
  }

  provideTextDocumentContent(uri: Uri): string | undefined {
    return this.texts.get(uri.toString());
  }

  dispose(): void {
    for (const each of this.registered) {
      each.dispose();
    }
  }
}
