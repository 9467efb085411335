/** The user's word on a preview: accept, reject, or retry. */

import { type TextDocument, window, workspace } from "vscode";
import { APPLIED, REJECTED, notApplied, outdated } from "./core/notices";
import type { Edits } from "./edits";
import type { Preview, Previews } from "./previews";

/** Apply the change as one undo step, if the document still is what the change was made for. */
export async function accept(preview: Preview, previews: Previews, edits: Edits): Promise<void> {
  const { ask } = preview;
  const document = await workspace.openTextDocument(ask.document.uri);
  if (document.getText() !== preview.base) {
    const again = async (): Promise<void> => {
      await previews.close(preview);
      await edits.again(ask);
    };
    edits.tell(outdated(ask.file), ask, { again, keep: () => previews.reveal(preview) });
    return;
  }
  await previews.close(preview);
  // Only an editor that is seen moves its cursors and folds along with an edit.
  await show(document, preview);
  if (await edits.apply(ask, preview.edits)) {
    edits.tell(APPLIED, ask);
  } else {
    await previews.show(ask, preview.edits);
    edits.tell(notApplied(ask.file), ask);
  }
}

/** Drop the change. */
export async function reject(preview: Preview, previews: Previews, edits: Edits): Promise<void> {
  await previews.close(preview);
  await show(await workspace.openTextDocument(preview.ask.document.uri), preview);
  edits.tell(REJECTED, preview.ask);
}

/** Back to the file, where it was. */
async function show(document: TextDocument, { column }: Preview): Promise<void> {
  await window.showTextDocument(document, { viewColumn: column });
}
