import type { Log } from "../log.ts";

/** Says once of each hook that its replies have keys that are not read. */
export class ForeignKeys {
  readonly #log: Log;
  readonly #reported = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  report(hook: string, keys: readonly string[]): void {
    if (this.#reported.has(hook)) return;
    this.#reported.add(hook);
    this.#log.warn(
      'the reply has keys that are not read: of another dialect ("dialect": "picoclaw-docs" in the config), or in another letter case; docs/protocol.md has the right ones',
      { hook, keys: keys.join(", ").slice(0, 200) },
    );
  }

  /** Lets a hook be told of anew: another has its name. */
  forget(hook: string): void {
    this.#reported.delete(hook);
  }
}
