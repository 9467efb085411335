/** How often a server that crashes is started again. */

export const MAX_RESTARTS = 4;
export const WINDOW_MINUTES = 3;

/** Counts the crashes of the last minutes. */
export class RestartLimiter {
  private crashes: number[] = []; // in milliseconds

  /** Count a crash at `now`, in milliseconds, and return whether the server may start again. */
  recordCrash(now: number): boolean {
    this.crashes = this.crashes.filter((time) => now - time < WINDOW_MINUTES * 60_000);
    this.crashes.push(now);
    return this.crashes.length <= MAX_RESTARTS;
  }
}
