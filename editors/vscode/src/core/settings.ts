/** Which settings of the section `redraft` are sent to the server. */

const EXTENSION_ONLY: ReadonlySet<string> = new Set(["preview", "server", "trace"]);

/** Return the section without the extension's own keys and without those that are not set. */
export function selectServerSettings(section: unknown): Record<string, unknown> {
  const entries = Object.entries((section ?? {}) as Record<string, unknown>);
  return Object.fromEntries(
    entries.filter(([key, value]) => !EXTENSION_ONLY.has(key) && value !== null && value !== ""),
  );
}
