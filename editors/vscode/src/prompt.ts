/** The input box for an instruction, with the former ones on Up and Down. */

import { type Disposable, type Memento, ThemeIcon, commands, window } from "vscode";
import { HistoryCursor, addToHistory } from "./core/history";

const HISTORY_KEY = "redraft.history";
const HISTORY_BUTTON = { iconPath: new ThemeIcon("history"), tooltip: "Former Instructions" };

/** The texts of the input box. */
export interface Question {
  readonly title: string;
  readonly question?: string;
  readonly initialValue?: string;
}

/** Asks for instructions and remembers them in `memory`, for all workspaces. */
export class Prompt implements Disposable {
  private readonly keys: Disposable[];
  private nOpen = 0;
  /** What Up and Down do: they belong to the box that was opened last. */
  private moveInHistory: (direction: "older" | "newer") => void = () => undefined;

  constructor(private readonly memory: Memento) {
    this.keys = [
      commands.registerCommand("redraft.olderInstruction", () => {
        this.moveInHistory("older");
      }),
      commands.registerCommand("redraft.newerInstruction", () => {
        this.moveInHistory("newer");
      }),
    ];
  }

  /** Whether the user is being asked. */
  get isOpen(): boolean {
    return this.nOpen > 0;
  }

  /** Return the instruction that the user typed, and remember it; undefined where there is none. */
  async ask(question: Question): Promise<string | undefined> {
    this.nOpen++;
    const instruction = await this.showInputBox(question).finally(() => this.nOpen--);
    if (instruction !== undefined) {
      await this.memory.update(HISTORY_KEY, addToHistory(this.history, instruction));
    }
    return instruction;
  }

  dispose(): void {
    for (const key of this.keys) {
      key.dispose();
    }
  }

  private get history(): readonly string[] {
    return this.memory.get<readonly string[]>(HISTORY_KEY, []);
  }

  private showInputBox({ title, question, initialValue }: Question): Promise<string | undefined> {
    const box = window.createInputBox();
    const cursor = new HistoryCursor(this.history);
    const show = (instruction: string): void => {
      box.value = instruction;
      box.valueSelection = [instruction.length, instruction.length];
    };
    box.title = title;
    box.prompt = question ?? "What shall be changed?";
    box.placeholder =
      "such as: return early when the list is empty (Up and Down: former instructions)";
    box.buttons = [HISTORY_BUTTON];
    box.ignoreFocusOut = true; // so that the user can look at the code meanwhile
    if (initialValue !== undefined) {
      box.value = initialValue;
      box.valueSelection = [0, initialValue.length];
    }
    const moveInHistory = (direction: "older" | "newer"): void => {
      show(cursor[direction](box.value));
    };
    this.moveInHistory = moveInHistory;
    // While the list of former instructions is open, the box is hidden and Up and Down are the list's.
    let isPicking = false;
    const setPicking = (value: boolean): void => {
      isPicking = value;
      void commands.executeCommand("setContext", "redraft.prompting", !value);
    };
    setPicking(false);
    return new Promise<string | undefined>((resolve) => {
      box.onDidTriggerButton(async () => {
        setPicking(true);
        const chosen = await window.showQuickPick(this.history, { title: HISTORY_BUTTON.tooltip });
        setPicking(false);
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
      // Another box may have been opened and taken the keys meanwhile.
      if (this.moveInHistory === moveInHistory) {
        void commands.executeCommand("setContext", "redraft.prompting", false);
      }
      box.dispose();
    });
  }
}
