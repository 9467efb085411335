/** What of the section `redraft` is the server's business. */

const OWN: ReadonlySet<string> = new Set(["preview", "server", "trace"]);

/** The section without the extension's own keys and without what is not set. */
export function serverSettings(section: unknown): Record<string, unknown> {
  const all = Object.entries((section ?? {}) as Record<string, unknown>);
  return Object.fromEntries(
    all.filter(([key, value]) => !OWN.has(key) && value !== null && value !== ""),
  );
}
