/** The commands that begin an edit: what is edited, and with which instruction. */

import {
  type Diagnostic,
  type Range,
  type TextDocument,
  type TextEditor,
  languages,
  window,
  workspace,
} from "vscode";
import type { CodeAction } from "vscode-languageclient/node";
import { shorten } from "./core/format";
import * as notices from "./core/notices";
import { EditRequest, type EditRequests, fromProtocolRange, toProtocolRange } from "./editRequests";
import type { Edits } from "./edits";
import { showNotice } from "./notify";
import type { Prompt, Question } from "./prompt";
import {
  type EditOptions,
  type EditParams,
  FIND_TARGET,
  type FoundTargets,
  type PromptParams,
  type Scope,
  WARM,
} from "./protocol";
import type { Server } from "./server";

/** A command of the palette; without `scope` it edits the selection, else the function. */
interface EditCommand {
  readonly title: string;
  readonly scope?: Scope;
}

export const EDIT_COMMANDS = {
  editCode: { title: "redraft: Edit function or selection" },
  editFunction: { title: "redraft: Edit function", scope: "function" },
  editSelection: { title: "redraft: Edit selection", scope: "selection" },
  editFile: { title: "redraft: Edit file", scope: "file" },
} as const satisfies Record<string, EditCommand>;

const EDIT_PREFIX = "redraft: Edit";

const SCHEMES: readonly string[] = ["file", "untitled"];

export class Commands {
  constructor(
    private readonly server: Server,
    private readonly requests: EditRequests,
    private readonly edits: Edits,
    private readonly prompt: Prompt,
  ) {}

  /** Edit where the user is. `argument` may hold the instruction, as keybindings can give it. */
  async edit({ title, scope }: EditCommand, argument?: unknown): Promise<void> {
    const editor = this.getEditor();
    if (editor === undefined) {
      return;
    }
    const { document, selection } = editor;
    if (scope === "selection" && selection.isEmpty) {
      await showNotice(notices.NOTHING_SELECTED);
      return;
    }
    const range = scope === "file" ? undefined : selection;
    const draft = new EditRequest(document, range, {
      instruction: "",
      ...(scope ? { scope } : {}),
    });
    await this.completeAndRun(draft, { title, prefix: EDIT_PREFIX }, readInstruction(argument));
  }

  /**
   * Edit the range of `request` once more, with another instruction; `onSend` is called when the user
   * has given one.
   */
  async retry(request: EditRequest, onSend?: () => Promise<void>): Promise<void> {
    if (!request.isLive) {
      await showNotice(notices.PLACE_IS_GONE);
      return;
    }
    const { document, range } = request;
    const { instruction, scope } = request.task;
    const draft = new EditRequest(document, range, { instruction, ...(scope ? { scope } : {}) });
    const title = `redraft: Retry in ${request.fileName}`;
    const texts = { title, prefix: `${title},`, initialValue: instruction };
    await this.completeAndRun(draft, texts, undefined, onSend);
  }

  /** Fix the problem at the cursor; of several, the one the user picks. */
  async fixProblem(): Promise<void> {
    const editor = this.getEditor();
    if (editor === undefined) {
      return;
    }
    const { document } = editor;
    const problems = findProblems(editor);
    if (problems.length === 0) {
      await showNotice(notices.NO_PROBLEM);
      return;
    }
    const problem = problems.length === 1 ? problems[0] : await pickProblem(problems);
    if (problem === undefined) {
      return;
    }
    const params = await this.requestFix(document, problem);
    await (params === undefined ? showNotice(notices.NO_FIX) : this.runAction(params));
  }

  /** Run the edit of a code action. */
  async runAction(params: EditParams): Promise<void> {
    const { instruction, title, scope } = params;
    const document = await this.findDocument(params);
    if (document !== undefined) {
      const task = { instruction, ...(title ? { title } : {}), ...(scope ? { scope } : {}) };
      await this.edits.run(this.requests.create(document, readRange(params), task));
    }
  }

  /** Ask for an instruction and run the edit: the client command of "Edit with instruction...". */
  async runPrompt(params: PromptParams): Promise<void> {
    const { question, scope } = params;
    const document = await this.findDocument(params);
    if (document !== undefined) {
      const task = { instruction: "", ...(scope ? { scope } : {}) };
      const draft = new EditRequest(document, readRange(params), task);
      const { title } = EDIT_COMMANDS.editCode;
      await this.completeAndRun(draft, { title, prefix: EDIT_PREFIX, question });
    }
  }

  /** Run `draft` with the given instruction, else with the one that the user types. */
  private async completeAndRun(
    draft: EditRequest,
    question: Question,
    givenInstruction?: string,
    onSend?: () => Promise<void>,
  ): Promise<void> {
    const drafts = [draft]; // the last one is that of the place which the user chose
    try {
      if (!this.server.checkAvailable()) {
        return;
      }
      if (givenInstruction === undefined) {
        this.prefill(draft.document);
      }
      const instruction =
        givenInstruction ??
        (await this.prompt.ask(question, {
          document: draft.document,
          found: this.findTarget(draft),
          onChoose: ({ range, scope }) => {
            const task = { ...draft.task, ...(scope ? { scope } : {}) };
            drafts.push(new EditRequest(draft.document, fromProtocolRange(range), task));
          },
        }));
      if (instruction !== undefined) {
        await onSend?.();
        // The draft's range moved along while the user was typing.
        const { document, range, task } = drafts.at(-1) ?? draft;
        await this.edits.run(this.requests.create(document, range, { ...task, instruction }));
      }
    } finally {
      for (const each of drafts) {
        each.dispose();
      }
    }
  }

  /** Return what an edit of `draft` would change; undefined where the server does not say. */
  private async findTarget(draft: EditRequest): Promise<FoundTargets | undefined> {
    try {
      await this.server.whenReady();
      const { document, range, task } = draft;
      return await this.server.execute<FoundTargets>(FIND_TARGET, {
        uri: document.uri.toString(),
        version: document.version,
        ...(range === undefined ? {} : { range: toProtocolRange(range) }),
        ...(task.scope === undefined ? {} : { scope: task.scope }),
      });
    } catch {
      return undefined; // The edit that follows meets the same error, and shows it.
    }
  }

  /** Let the model read the file while the user types. */
  private prefill({ uri }: TextDocument): void {
    if (workspace.getConfiguration("redraft").get<boolean>("warm", true)) {
      // An error is left to the edit that follows: it meets the same one, and shows it.
      this.server.execute(WARM, { uri: uri.toString() }).catch(() => undefined);
    }
  }

  /** Return the edit with which the server would fix `problem`; undefined where it offers none. */
  private async requestFix(
    document: TextDocument,
    problem: Diagnostic,
  ): Promise<EditParams | undefined> {
    const client = await this.server.whenReady();
    const diagnostics = await client.code2ProtocolConverter.asDiagnostics([problem]);
    const actions = await client.sendRequest<CodeAction[] | null>("textDocument/codeAction", {
      textDocument: { uri: document.uri.toString() },
      range: toProtocolRange(problem.range),
      context: { diagnostics, only: ["quickfix"] },
    });
    return actions?.[0]?.command?.arguments?.[0] as EditParams | undefined;
  }

  /** Return the document of an action; tell the user where it changed since the action was offered. */
  private async findDocument({ uri, version }: EditOptions): Promise<TextDocument | undefined> {
    const document = workspace.textDocuments.find((candidate) => candidate.uri.toString() === uri);
    if (document === undefined || (version ?? document.version) !== document.version) {
      await showNotice(notices.OUTDATED_ACTION);
      return undefined;
    }
    return document;
  }

  /** Return the active editor; tell the user where there is none that can be edited. */
  private getEditor(): TextEditor | undefined {
    const editor = window.activeTextEditor;
    if (editor === undefined) {
      void showNotice(notices.NO_EDITOR);
    } else if (!SCHEMES.includes(editor.document.uri.scheme)) {
      void showNotice(notices.createUnsupportedNotice(editor.document.uri.scheme));
      return undefined;
    }
    return editor;
  }
}

function readInstruction(argument: unknown): string | undefined {
  const { instruction } = (argument ?? {}) as { instruction?: unknown };
  return typeof instruction === "string" && instruction.trim() !== "" ? instruction : undefined;
}

function readRange({ range, position }: EditOptions): Range | undefined {
  if (range) {
    return fromProtocolRange(range);
  }
  return position ? fromProtocolRange({ start: position, end: position }) : undefined;
}

/** Return the problems that the selection touches, else those of the cursor's line. */
function findProblems({ document, selection }: TextEditor): Diagnostic[] {
  const all = languages.getDiagnostics(document.uri);
  const touched = all.filter(({ range }) => range.intersection(selection) !== undefined);
  const line = document.lineAt(selection.active.line).range;
  return touched.length > 0
    ? touched
    : all.filter(({ range }) => range.intersection(line) !== undefined);
}

async function pickProblem(problems: readonly Diagnostic[]): Promise<Diagnostic | undefined> {
  const items = problems.map((problem) => ({
    label: shorten(problem.message),
    description: `line ${problem.range.start.line + 1}`,
    problem,
  }));
  return (await window.showQuickPick(items, { title: "redraft: Fix which problem?" }))?.problem;
}
