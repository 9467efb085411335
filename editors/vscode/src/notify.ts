/** Shows notices, and does what their buttons say. */

import { commands, window } from "vscode";
import { BUTTON_TITLES, type Button, type Notice } from "./core/notices";

const STATUS_MS = 5_000;

/** What the buttons of a notice do. A button without a handler is not shown. */
export type ButtonHandlers = Partial<Record<Button, () => unknown>>;

/** Show `notice` and run the handler of the button that the user presses. */
export async function showNotice(notice: Notice, handlers: ButtonHandlers = {}): Promise<void> {
  if (notice.level === "status") {
    window.setStatusBarMessage(notice.text, STATUS_MS);
    return;
  }
  const allHandlers: ButtonHandlers = { ...createDefaultHandlers(notice), ...handlers };
  const buttons = notice.buttons.filter((button) => allHandlers[button] !== undefined);
  const titles = buttons.map((button) => BUTTON_TITLES[button]);
  const chosenTitle = await SHOW_MESSAGE[notice.level](notice.text, ...titles);
  const chosen = buttons.find((button) => BUTTON_TITLES[button] === chosenTitle);
  await (chosen && allHandlers[chosen]?.());
}

const SHOW_MESSAGE = {
  info: (text: string, ...titles: string[]) => window.showInformationMessage(text, ...titles),
  warning: (text: string, ...titles: string[]) => window.showWarningMessage(text, ...titles),
  error: (text: string, ...titles: string[]) => window.showErrorMessage(text, ...titles),
};

/** Return the handlers of the buttons that do the same in every notice. */
function createDefaultHandlers({ setting }: Notice): ButtonHandlers {
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
