/** Accepting and rejecting a preview. */

import { type TextDocument, window, workspace } from "vscode";
import { REJECTED, createNotAppliedNotice, createOutdatedNotice } from "./core/notices";
import type { Edits } from "./edits";
import type { Preview, Previews } from "./previews";

/** Apply the change as one undo step, if the document still is what the change was made for. */
export async function accept(preview: Preview, previews: Previews, edits: Edits): Promise<void> {
  const { request } = preview;
  const document = await workspace.openTextDocument(request.document.uri);
  if (document.getText() !== preview.base) {
    const rerun = async (): Promise<void> => {
      await previews.close(preview);
      await edits.rerun(request);
    };
    const keep = (): unknown => previews.reveal(preview);
    edits.notify(createOutdatedNotice(request.fileName), request, { rerun, keep });
    return;
  }
  // Only a visible editor moves its cursors and folds along with an edit.
  await showDocument(document, preview);
  if (await edits.apply(request, preview.buildEdits(document))) {
    await previews.close(preview);
    await previews.closeOutdated(document); // those that were to change the same code
    edits.notifyApplied(request, preview.result);
  } else {
    edits.notify(createNotAppliedNotice(request.fileName), request);
  }
}

/** Drop the change. */
export async function reject(preview: Preview, previews: Previews, edits: Edits): Promise<void> {
  await withdraw(preview, previews);
  edits.notify(REJECTED, preview.request);
}

/** Close the preview and return to the file. */
export async function withdraw(preview: Preview, previews: Previews): Promise<void> {
  await previews.close(preview);
  const document = await workspace.openTextDocument(preview.request.document.uri);
  await showDocument(document, preview);
}

/** Show the file where its preview was. */
async function showDocument(document: TextDocument, { column }: Preview): Promise<void> {
  await window.showTextDocument(document, { viewColumn: column });
}
