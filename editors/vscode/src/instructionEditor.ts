/**
 * A document for an instruction of several lines, beside the code.
 *
 * It has a scheme of its own, kept in memory: no file is written, and the server is not told of it.
 */

import {
  type Disposable,
  EventEmitter,
  type FileChangeEvent,
  FileSystemError,
  type FileStat,
  type FileSystemProvider,
  FileType,
  Range,
  Uri,
  ViewColumn,
  commands,
  window,
  workspace,
} from "vscode";
import { closeTabs, getTabUri } from "./tabs";

const SCHEME = "redraft-instruction";

export class InstructionEditor implements FileSystemProvider, Disposable {
  private readonly contents = new Map<string, Uint8Array>(); // by path
  private readonly changed = new EventEmitter<FileChangeEvent[]>();
  readonly onDidChangeFile = this.changed.event; // before `registered`, which reads it
  private readonly sent = new EventEmitter<void>();
  private nOpened = 0;
  private readonly registered: readonly Disposable[] = [
    workspace.registerFileSystemProvider(SCHEME, this),
    commands.registerCommand("redraft.sendInstruction", () => {
      this.sent.fire();
    }),
    this.changed,
    this.sent,
  ];

  constructor() {
    // Those of a session before are of no use.
    void closeTabs(({ scheme }) => scheme === SCHEME);
  }

  /** Return what the user makes of `text`; undefined where the document is closed instead. */
  async edit(text: string): Promise<string | undefined> {
    const uri = Uri.from({ scheme: SCHEME, path: `/${++this.nOpened}/Instruction.md` });
    const isOurs = (other: Uri | undefined): boolean => other?.toString() === uri.toString();
    this.contents.set(uri.path, Buffer.from(text));
    const document = await workspace.openTextDocument(uri);
    const end = document.positionAt(text.length);
    await window.showTextDocument(document, {
      viewColumn: ViewColumn.Beside,
      selection: new Range(end, end),
    });
    const listeners: Disposable[] = [];
    const isSent = await new Promise<boolean>((resolve) => {
      listeners.push(
        this.sent.event(() => {
          if (isOurs(window.activeTextEditor?.document.uri)) {
            resolve(true);
          }
        }),
        window.tabGroups.onDidChangeTabs(({ closed }) => {
          if (closed.some((tab) => isOurs(getTabUri(tab)))) {
            resolve(false);
          }
        }),
      );
    });
    for (const listener of listeners) {
      listener.dispose();
    }
    const instruction = document.getText().trim();
    if (isSent) {
      await document.save(); // else VS Code asks what to do with it
      await closeTabs(isOurs);
    }
    this.contents.delete(uri.path);
    return isSent && instruction !== "" ? instruction : undefined;
  }

  dispose(): void {
    for (const disposable of this.registered) {
      disposable.dispose();
    }
  }

  // The file system of these documents: each is written and read, and nothing else.

  stat({ path }: Uri): FileStat {
    return { type: FileType.File, ctime: 0, mtime: 0, size: this.read(path).length };
  }

  readFile({ path }: Uri): Uint8Array {
    return this.read(path);
  }

  writeFile({ path }: Uri, content: Uint8Array): void {
    this.read(path);
    this.contents.set(path, content);
  }

  watch(): Disposable {
    return { dispose: () => undefined };
  }

  readDirectory(uri: Uri): never {
    throw FileSystemError.NoPermissions(uri);
  }

  createDirectory(uri: Uri): never {
    throw FileSystemError.NoPermissions(uri);
  }

  delete(uri: Uri): never {
    throw FileSystemError.NoPermissions(uri);
  }

  rename(uri: Uri): never {
    throw FileSystemError.NoPermissions(uri);
  }

  private read(path: string): Uint8Array {
    const content = this.contents.get(path);
    if (content === undefined) {
      throw FileSystemError.FileNotFound(path);
    }
    return content;
  }
}
