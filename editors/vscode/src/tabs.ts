/** Tabs by the document they show; of a diff, that is the new side. */

import { type Tab, TabInputText, TabInputTextDiff, type Uri, window } from "vscode";

/** The document that a tab shows. */
export function shownIn({ input }: Tab): Uri | undefined {
  if (input instanceof TabInputTextDiff) {
    return input.modified;
  }
  return input instanceof TabInputText ? input.uri : undefined;
}

/** Close the tabs of the documents that fit. */
export async function closeTabs(fits: (shown: Uri) => boolean): Promise<void> {
  const tabs = window.tabGroups.all.flatMap((group) => group.tabs);
  await window.tabGroups.close(
    tabs.filter((tab) => {
      const shown = shownIn(tab);
      return shown !== undefined && fits(shown);
    }),
  );
}
