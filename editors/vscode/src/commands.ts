/** The commands that begin an edit: where the user is, what they want, and what to ask them. */

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
import { Ask, type Asks, plain, rangeOf } from "./editRequests";
import * as notices from "./core/notices";
import { short } from "./core/format";
import type { Edits } from "./edits";
import { tell } from "./notify";
import type { Prompt } from "./prompt";
import { type EditOptions, type EditParams, type PromptParams, type Scope, WARM } from "./protocol";
import type { Server } from "./server";

/** What the parts of a command have in common; `scope` undefined: the selection, else the function. */
interface Kind {
  readonly title: string;
  readonly scope?: Scope;
}

export const KINDS = {
  editCode: { title: "redraft: Edit function or selection" },
  editFunction: { title: "redraft: Edit function", scope: "function" },
  editSelection: { title: "redraft: Edit selection", scope: "selection" },
  editFile: { title: "redraft: Edit file", scope: "file" },
} as const satisfies Record<string, Kind>;

const SCHEMES: readonly string[] = ["file", "untitled"];

export class Commands {
  constructor(
    private readonly server: Server,
    private readonly asks: Asks,
    private readonly edits: Edits,
    private readonly prompt: Prompt,
  ) {}

  /** Edit where the user is. `given` may hold the instruction, as keybindings can. */
  async edit({ title, scope }: Kind, given?: unknown): Promise<void> {
    const editor = this.editor();
    if (editor === undefined) {
      return;
    }
    const { document, selection } = editor;
    if (scope === "selection" && selection.isEmpty) {
      await tell(notices.NOTHING_SELECTED);
      return;
    }
    const range = scope === "file" ? undefined : selection;
    const where = new Ask(document, range, { instruction: "", ...(scope ? { scope } : {}) });
    await this.asked(where, { title }, instructionIn(given));
  }

  /** Ask for another instruction for the place of `ask`. */
  async retry(ask: Ask): Promise<void> {
    if (!ask.isLive) {
      await tell(notices.GONE);
      return;
    }
    const { document, range } = ask;
    const { instruction, scope } = ask.wanted;
    const where = new Ask(document, range, { instruction, ...(scope ? { scope } : {}) });
    await this.asked(where, { title: `redraft: Retry in ${ask.file}`, former: instruction });
  }

  /** Fix the problem at the cursor; of several, the one the user picks. */
  async fixProblem(): Promise<void> {
    const editor = this.editor();
    if (editor === undefined) {
      return;
    }
    const { document } = editor;
    const problems = problemsAt(editor);
    if (problems.length === 0) {
      await tell(notices.NO_PROBLEM);
      return;
    }
    const problem = problems.length === 1 ? problems[0] : await picked(problems);
    if (problem === undefined) {
      return;
    }
    const params = await this.fixOf(document, problem);
    await (params === undefined ? tell(notices.NO_FIX) : this.fromAction(params));
  }

  /** The edit that a code action asks for. */
  async fromAction(params: EditParams): Promise<void> {
    const { instruction, title, scope } = params;
    const document = await this.current(params);
    if (document !== undefined) {
      const wanted = { instruction, ...(title ? { title } : {}), ...(scope ? { scope } : {}) };
      await this.edits.run(this.asks.of(document, placeOf(params), wanted));
    }
  }

  /** The client command of "Edit with instruction...". */
  async fromPrompt(params: PromptParams): Promise<void> {
    const { question, scope } = params;
    const document = await this.current(params);
    if (document !== undefined) {
      const wanted = { instruction: "", ...(scope ? { scope } : {}) };
      const where = new Ask(document, placeOf(params), wanted);
      await this.asked(where, { title: KINDS.editCode.title, question });
    }
  }

  private async asked(
    where: Ask,
    question: Parameters<Prompt["ask"]>[0],
    given?: string,
  ): Promise<void> {
    try {
      if (!this.server.isThere()) {
        return;
      }
      if (given === undefined) {
        this.warm(where.document);
      }
      const instruction = given ?? (await this.prompt.ask(question));
      if (instruction !== undefined) {
        const { document, range, wanted } = where;
        await this.edits.run(this.asks.of(document, range, { ...wanted, instruction }));
      }
    } finally {
      where.dispose();
    }
  }

  /** Let the model read the file while the user types. */
  private warm({ uri }: TextDocument): void {
    if (workspace.getConfiguration("redraft").get<boolean>("warm", true)) {
      // What is wrong shows in the edit that follows.
      this.server.execute(WARM, { uri: uri.toString() }).catch(() => undefined);
    }
  }

  private async fixOf(
    document: TextDocument,
    problem: Diagnostic,
  ): Promise<EditParams | undefined> {
    const client = await this.server.ready();
    const diagnostics = await client.code2ProtocolConverter.asDiagnostics([problem]);
    const actions = await client.sendRequest<CodeAction[] | null>("textDocument/codeAction", {
      textDocument: { uri: document.uri.toString() },
      range: plain(problem.range),
      context: { diagnostics, only: ["quickfix"] },
    });
    return actions?.[0]?.command?.arguments?.[0] as EditParams | undefined;
  }

  /** The document of an action, unless it changed since the action was offered. */
  private async current({ uri, version }: EditOptions): Promise<TextDocument | undefined> {
    const document = workspace.textDocuments.find((each) => each.uri.toString() === uri);
    if (document === undefined || (version ?? document.version) !== document.version) {
      await tell(notices.OUTDATED_ACTION);
      return undefined;
    }
    return document;
  }

  /** The active editor, where its document can be edited; else the user is told. */
  private editor(): TextEditor | undefined {
    const editor = window.activeTextEditor;
    if (editor === undefined) {
      void tell(notices.NO_EDITOR);
    } else if (!SCHEMES.includes(editor.document.uri.scheme)) {
      void tell(notices.unsupported(editor.document.uri.scheme));
      return undefined;
    }
    return editor;
  }
}

function instructionIn(given: unknown): string | undefined {
  const { instruction } = (given ?? {}) as { instruction?: unknown };
  return typeof instruction === "string" && instruction.trim() !== "" ? instruction : undefined;
}

function placeOf({ range, position }: EditOptions): Range | undefined {
  if (range) {
    return rangeOf(range);
  }
  return position ? rangeOf({ start: position, end: position }) : undefined;
}

/** The problems that the selection touches, else those of the cursor's line. */
function problemsAt({ document, selection }: TextEditor): Diagnostic[] {
  const all = languages.getDiagnostics(document.uri);
  const touched = all.filter(({ range }) => range.intersection(selection) !== undefined);
  const line = document.lineAt(selection.active.line).range;
  return touched.length > 0
    ? touched
    : all.filter(({ range }) => range.intersection(line) !== undefined);
}

async function picked(problems: readonly Diagnostic[]): Promise<Diagnostic | undefined> {
  const items = problems.map((problem) => ({
    label: short(problem.message),
    description: `line ${problem.range.start.line + 1}`,
    problem,
  }));
  return (await window.showQuickPick(items, { title: "redraft: Fix which problem?" }))?.problem;
}
