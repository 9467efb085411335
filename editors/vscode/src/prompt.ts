/**
 * The input box for an instruction, with the former ones on Up and Down.
 *
 * It opens at once, so that what is typed goes nowhere else. What will be edited is named in it and
 * highlighted as soon as that is known; where there is nothing to edit, the user chooses a place.
 */

import {
  type Disposable,
  type Memento,
  type Range,
  type TextDocument,
  type TextEditor,
  type TextEditorDecorationType,
  ThemeColor,
  ThemeIcon,
  commands,
  window,
} from "vscode";
import { HistoryCursor, addToHistory, toLines, toOneLine } from "./core/history";
import * as notices from "./core/notices";
import { fromProtocolRange } from "./editRequests";
import { InstructionEditor } from "./instructionEditor";
import { showNotice } from "./notify";
import type { EditTarget, FoundTargets } from "./protocol";

const HISTORY_KEY = "redraft.history";
const LINES_BUTTON = {
  iconPath: new ThemeIcon("list-flat"),
  tooltip: "Write Several Lines (Shift+Enter)",
};
const HISTORY_BUTTON = { iconPath: new ThemeIcon("history"), tooltip: "Former Instructions" };

/** The texts of the input box; the name of what will be edited comes after `prefix`, in the title. */
export interface Question {
  readonly title: string;
  readonly prefix: string;
  readonly question?: string;
  readonly initialValue?: string;
}

/** What an instruction will be about; `onChoose` is called where the user chooses another place. */
export interface Place {
  readonly document: TextDocument;
  readonly found: Promise<FoundTargets | undefined>;
  readonly onChoose: (target: EditTarget) => void;
}

/** Asks for instructions and remembers them in `memory`, for all workspaces. */
export class Prompt implements Disposable {
  private readonly keys: Disposable[];
  private nOpen = 0;
  /** What Up and Down do: they belong to the box that was opened last. */
  private moveInHistory: (direction: "older" | "newer") => void = () => undefined;
  private writeLines: () => unknown = () => undefined;
  private readonly editor = new InstructionEditor();

  constructor(private readonly memory: Memento) {
    this.keys = [
      commands.registerCommand("redraft.olderInstruction", () => {
        this.moveInHistory("older");
      }),
      commands.registerCommand("redraft.newerInstruction", () => {
        this.moveInHistory("newer");
      }),
      commands.registerCommand("redraft.writeLines", () => this.writeLines()),
    ];
  }

  /** Whether the user is being asked. */
  get isOpen(): boolean {
    return this.nOpen > 0;
  }

  /** Return the instruction that the user typed, and remember it; undefined where there is none. */
  async ask(question: Question, place: Place): Promise<string | undefined> {
    this.nOpen++;
    const highlight = createHighlight();
    const instruction = await this.showInputBox(question, place, highlight).finally(() => {
      this.nOpen--;
      highlight.dispose(); // which removes it from the editors
    });
    if (instruction !== undefined) {
      await this.memory.update(HISTORY_KEY, addToHistory(this.history, instruction));
    }
    return instruction;
  }

  dispose(): void {
    this.editor.dispose();
    for (const key of this.keys) {
      key.dispose();
    }
  }

  private get history(): readonly string[] {
    return this.memory.get<readonly string[]>(HISTORY_KEY, []);
  }

  private showInputBox(
    { title, prefix, question, initialValue }: Question,
    place: Place,
    highlight: TextEditorDecorationType,
  ): Promise<string | undefined> {
    const box = window.createInputBox();
    const cursor = new HistoryCursor(this.history);
    const show = (instruction: string): void => {
      box.value = toOneLine(instruction);
      box.valueSelection = [box.value.length, box.value.length];
    };
    box.title = title;
    box.prompt = question ?? "What shall be changed?";
    box.placeholder =
      "such as: return early when the list is empty (Up and Down: former instructions)";
    box.buttons = [LINES_BUTTON, HISTORY_BUTTON];
    box.ignoreFocusOut = true; // so that the user can look at the code meanwhile
    if (initialValue !== undefined) {
      box.value = toOneLine(initialValue);
      box.valueSelection = [0, box.value.length];
    }
    const moveInHistory = (direction: "older" | "newer"): void => {
      show(cursor[direction](box.value));
    };
    this.moveInHistory = moveInHistory;
    // While a list or a document is open, the box is hidden and Up and Down are not its own.
    let isPicking = false;
    const setPicking = (value: boolean): void => {
      isPicking = value;
      void commands.executeCommand("setContext", "redraft.prompting", !value);
    };
    setPicking(false);
    return new Promise<string | undefined>((resolve) => {
      let isOver = false;
      const pick = async <T>(choose: () => Thenable<T>): Promise<T> => {
        setPicking(true);
        const chosen = await choose();
        setPicking(false);
        return chosen;
      };
      const writeLines = async (): Promise<void> => {
        const column = findEditors(place.document)[0]?.viewColumn;
        const instruction = await pick(() => {
          box.hide();
          return this.editor.edit(toLines(box.value));
        });
        if (instruction === undefined) {
          box.show();
          return;
        }
        // Back to the code: the change may open by itself there.
        await window.showTextDocument(place.document, column);
        isOver = true;
        resolve(instruction);
      };
      this.writeLines = writeLines;
      box.onDidTriggerButton(async (button) => {
        if (button === LINES_BUTTON) {
          await writeLines();
          return;
        }
        const options = { title: HISTORY_BUTTON.tooltip };
        const chosen = await pick(() => window.showQuickPick(this.history.map(toOneLine), options));
        box.show();
        show(chosen ?? box.value);
      });
      void place.found.then(async (found) => {
        if (found === undefined || isOver) {
          return;
        }
        const target =
          found.problem === null ? found.targets[0] : await pick(() => chooseTarget(found));
        if (target === undefined) {
          resolve(undefined);
          return;
        }
        if (found.problem !== null) {
          place.onChoose(target);
          box.show();
        }
        box.title = `${prefix} ${target.name}`;
        showHighlight(highlight, place.document, fromProtocolRange(target.range));
      });
      box.onDidAccept(() => {
        const instruction = toLines(box.value).trim();
        if (instruction !== "") {
          isOver = true;
          resolve(instruction);
          box.hide();
        }
      });
      box.onDidHide(() => {
        if (!isPicking) {
          isOver = true;
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

function createHighlight(): TextEditorDecorationType {
  return window.createTextEditorDecorationType({
    backgroundColor: new ThemeColor("editor.rangeHighlightBackground"),
    isWholeLine: true,
  });
}

/** Highlight the lines of `range` wherever the document is shown; they move along with the text. */
function showHighlight(
  highlight: TextEditorDecorationType,
  document: TextDocument,
  range: Range,
): void {
  for (const editor of findEditors(document)) {
    editor.setDecorations(highlight, [range]);
  }
}

function findEditors(document: TextDocument): readonly TextEditor[] {
  return window.visibleTextEditors.filter((editor) => editor.document === document);
}

/** Let the user choose what to edit, where a cursor stands in no function. */
async function chooseTarget({ problem, targets }: FoundTargets): Promise<EditTarget | undefined> {
  if (targets.length === 0) {
    void showNotice(notices.createNotice("info", `${problem ?? ""}.`, []));
    return undefined;
  }
  const items = targets.map((target) => ({ label: target.name, target }));
  // The rest of the sentence says what to do: that is what is asked here.
  const title = `redraft: ${problem?.split(":")[0] ?? ""}`;
  const placeHolder = "What shall be edited?";
  return (await window.showQuickPick(items, { title, placeHolder, ignoreFocusOut: true }))?.target;
}
