/** Asking for an instruction: an input box with the former ones on Up and Down. */

import { type Disposable, type Memento, ThemeIcon, commands, window } from "vscode";
import { Walk, remember } from "./core/history";

const HISTORY = "redraft.history";
const FORMER = { iconPath: new ThemeIcon("history"), tooltip: "Former Instructions" };

/** What is asked, and of what the answer is a change. */
export interface Question {
  readonly title: string;
  readonly question?: string;
  readonly former?: string;
}

/** Keeps the instructions in `memory`, for all workspaces. */
export class Prompt implements Disposable {
  private readonly keys: Disposable[];
  private go: (step: "older" | "newer") => void = () => undefined;

  constructor(private readonly memory: Memento) {
    this.keys = [
      commands.registerCommand("redraft.olderInstruction", () => {
        this.go("older");
      }),
      commands.registerCommand("redraft.newerInstruction", () => {
        this.go("newer");
      }),
    ];
  }

  /** The instruction, remembered; undefined where the user gave none. */
  async ask(question: Question): Promise<string | undefined> {
    const instruction = await this.typed(question);
    if (instruction !== undefined) {
      await this.memory.update(HISTORY, remember(this.history, instruction));
    }
    return instruction;
  }

  dispose(): void {
    for (const key of this.keys) {
      key.dispose();
    }
  }

  private get history(): readonly string[] {
    return this.memory.get<readonly string[]>(HISTORY, []);
  }

  private typed({ title, question, former }: Question): Promise<string | undefined> {
    const box = window.createInputBox();
    const walk = new Walk(this.history);
    const show = (instruction: string): void => {
      box.value = instruction;
      box.valueSelection = [instruction.length, instruction.length];
    };
    box.title = title;
    box.prompt = question ?? "What shall be changed?";
    box.placeholder =
      "such as: return early when the list is empty (Up and Down: former instructions)";
    box.buttons = [FORMER];
    box.ignoreFocusOut = true; // the code may be looked at meanwhile
    if (former !== undefined) {
      box.value = former;
      box.valueSelection = [0, former.length];
    }
    const go = (step: "older" | "newer"): void => {
      show(walk[step](box.value));
    };
    this.go = go;
    let isPicking = false; // the list hides the box, and Up and Down are its own
    const picking = (is: boolean): void => {
      isPicking = is;
      void commands.executeCommand("setContext", "redraft.prompting", !is);
    };
    picking(false);
    return new Promise<string | undefined>((resolve) => {
      box.onDidTriggerButton(async () => {
        picking(true);
        const chosen = await window.showQuickPick(this.history, { title: FORMER.tooltip });
        picking(false);
        box.show();
        show(chosen ?? box.value);
      });
      box.onDidAccept(() => {
        const instruction = box.value.trim();
        if (instruction !== "") {
          resolve(instruction);
          box.hide();
        }
      });
      box.onDidHide(() => {
        if (!isPicking) {
          resolve(undefined);
        }
      });
      box.show();
    }).finally(() => {
      // Another box may have come and taken the keys meanwhile.
      if (this.go === go) {
        void commands.executeCommand("setContext", "redraft.prompting", false);
      }
      box.dispose();
    });
  }
}
