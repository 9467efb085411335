/** What VS Code calls: everything lives in `Session`. */

import type { ExtensionContext } from "vscode";
import { Session } from "./session";

let session: Session | undefined;

export function activate(context: ExtensionContext): void {
  session = new Session(context);
  context.subscriptions.push(session);
  void session.start();
}

export async function deactivate(): Promise<void> {
  await session?.stop();
}
