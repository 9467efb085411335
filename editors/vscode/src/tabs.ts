/** Tabs by the document they show; of a diff, that is the new side. */

import { type Tab, TabInputText, TabInputTextDiff, type Uri, window } from "vscode";

/** Return the document that a tab shows. */
export function getTabUri({ input }: Tab): Uri | undefined {
  if (input instanceof TabInputTextDiff) {
    return input.modified;
  }
  return input instanceof TabInputText ? input.uri : undefined;
}

/** Return the tab that shows the document. */
export function findTab(uri: Uri): Tab | undefined {
  return window.tabGroups.all
    .flatMap((group) => group.tabs)
    .find((tab) => getTabUri(tab)?.toString() === uri.toString());
}

/** Close the tabs of the documents for which `matches` returns true. */
export async function closeTabs(matches: (uri: Uri) => boolean): Promise<void> {
  const tabs = window.tabGroups.all.flatMap((group) => group.tabs);
  await window.tabGroups.close(
    tabs.filter((tab) => {
      const uri = getTabUri(tab);
      return uri !== undefined && matches(uri);
    }),
  );
}
