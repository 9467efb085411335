/** Showing notices, and doing what their buttons say. */

import { commands, window } from "vscode";
import { type Button, type Notice, TITLES } from "./core/notices";

const STATUS_MS = 5_000;

/** What buttons do that depend on what the notice is about; one without is not shown. */
export type Ways = Partial<Record<Button, () => unknown>>;

/** Show `notice` until the user is done with it. */
export async function tell(notice: Notice, ways: Ways = {}): Promise<void> {
  if (notice.level === "status") {
    window.setStatusBarMessage(notice.text, STATUS_MS);
    return;
  }
  const known: Ways = { ...general(notice), ...ways };
  const buttons = notice.buttons.filter((button) => known[button] !== undefined);
  const chosen = await SHOW[notice.level](notice.text, ...buttons.map((button) => TITLES[button]));
  const button = buttons.find((each) => TITLES[each] === chosen);
  await (button && known[button]?.());
}

const SHOW = {
  info: (text: string, ...titles: string[]) => window.showInformationMessage(text, ...titles),
  warning: (text: string, ...titles: string[]) => window.showWarningMessage(text, ...titles),
  error: (text: string, ...titles: string[]) => window.showErrorMessage(text, ...titles),
};

function general({ setting }: Notice): Ways {
  const run = (command: string, argument?: string) => () =>
    commands.executeCommand(command, ...(argument === undefined ? [] : [argument]));
  return {
    log: run("redraft.showLog"),
    restart: run("redraft.restartServer"),
    install: run("redraft.install"),
    interpreter: run("redraft.selectInterpreter"),
    settings: run("workbench.action.openSettings", setting ?? "redraft"),
  };
}
