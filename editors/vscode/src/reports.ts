/** Read-only documents without a file: the trace of an edit, the debug information. */

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
import type { MarkedText } from "./core/trace";
import { closeTabs } from "./tabs";

const SCHEME = "redraft-report";

export class Reports implements TextDocumentContentProvider, Disposable {
  private readonly texts = new Map<string, string>();
  private nShown = 0;
  private readonly draftedStyle = window.createTextEditorDecorationType({});
  private readonly decodedStyle = window.createTextEditorDecorationType({
    backgroundColor: new ThemeColor("diffEditor.insertedTextBackground"),
  });
  private readonly registered: readonly Disposable[] = [
    workspace.registerTextDocumentContentProvider(SCHEME, this),
    workspace.onDidCloseTextDocument(({ uri }) => this.texts.delete(uri.toString())),
    this.draftedStyle,
    this.decodedStyle,
  ];

  /** Show `text` in a tab called `name`, in the place of the last one of that name. */
  async show(name: string, { text, marks }: MarkedText, language: string): Promise<void> {
    await closeTabs(({ scheme, path }) => scheme === SCHEME && path === `/${name}`);
    const uri = Uri.from({ scheme: SCHEME, path: `/${name}`, query: String(++this.nShown) });
    this.texts.set(uri.toString(), text);
    const document = await workspace.openTextDocument(uri);
    const editor = await window.showTextDocument(document, { preview: true });
    for (const style of [this.draftedStyle, this.decodedStyle]) {
      const styled = marks.filter(
        ({ origin }) => (origin === null) === (style === this.decodedStyle),
      );
      const decorations = styled.map(({ start, end, hover }) => ({
        range: new Range(document.positionAt(start), document.positionAt(end)),
        hoverMessage: hover,
      }));
      editor.setDecorations(style, decorations);
    }
    await languages.setTextDocumentLanguage(document, language);
  }

  provideTextDocumentContent(uri: Uri): string | undefined {
    return this.texts.get(uri.toString());
  }

  dispose(): void {
    for (const disposable of this.registered) {
      disposable.dispose();
    }
  }
}
