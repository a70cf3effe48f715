import type { CliHost } from "./host.ts";

/** Files that are watched, which may become others. */
export class WatchedFiles {
  readonly #host: Pick<CliHost, "watchFile">;
  readonly #onChange: (path: string) => void;
  readonly #watches = new Map<string, () => void>();
  #isClosed = false;

  /** @param onChange called when one of them has changed and is at rest */
  constructor(host: Pick<CliHost, "watchFile">, onChange: (path: string) => void) {
    this.#host = host;
    this.#onChange = onChange;
  }

  /** Watches these from now on and no others; one that is watched already is not begun anew. */
  set(paths: readonly string[]): void {
    if (this.#isClosed) return;
    for (const [path, dispose] of this.#watches) {
      if (paths.includes(path)) continue;
      dispose();
      this.#watches.delete(path);
    }
    for (const path of new Set(paths)) {
      if (this.#watches.has(path)) continue;
      this.#watches.set(
        path,
        this.#host.watchFile(path, () => this.#onChange(path)),
      );
    }
  }

  close(): void {
    this.set([]);
    this.#isClosed = true;
  }
}
