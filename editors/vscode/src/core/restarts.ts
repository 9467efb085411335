/** How often a server that dies is started again. */

export const LIMIT = 4;
export const WINDOW_MINUTES = 3;

/** Counts the deaths of the last minutes. */
export class Restarts {
  private deaths: number[] = [];

  /** Whether the server that died at `now`, in milliseconds, is to be started again. */
  allows(now: number): boolean {
    this.deaths = this.deaths.filter((then) => now - then < WINDOW_MINUTES * 60_000);
    this.deaths.push(now);
    return this.deaths.length <= LIMIT;
  }
}
