import type { HookPort } from "../picoclaw/index.ts";

interface Entry {
  readonly port: HookPort;
  users: number;
}

/** A hook's port as one manager has it: closing it closes the hook only when no other manager has it. */
export interface PortLease {
  readonly port: HookPort;
  /** Whether the hook was running already. */
  readonly isKept: boolean;
}

/**
 * The hooks that run, by what they were made of, so that a config read again keeps those that are still the same. The
 * keys hold secrets; they are never shown.
 */
export class PortPool {
  readonly #entries = new Map<string, Entry>();

  /** Hands out the hook that was made of the same, or makes it. One that is not up is made anew: it may be mended. */
  async lease(parts: unknown, open: () => HookPort | Promise<HookPort>): Promise<PortLease> {
    const key = toKey(parts);
    const running = this.#entries.get(key);
    const state = running?.port.status().state;
    const isKept = running !== undefined && (state === "ready" || state === "starting");
    const entry = isKept ? running : { port: await open(), users: 0 };
    this.#entries.set(key, entry);
    entry.users += 1;
    let closing: Promise<void> | undefined;
    // Only the closing differs, so calls take no detour.
    return { isKept, port: { ...entry.port, close: () => (closing ??= this.#release(key, entry)) } };
  }

  async #release(key: string, entry: Entry): Promise<void> {
    entry.users -= 1;
    if (entry.users > 0) return;
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
    await entry.port.close();
  }
}

/** The same text for the same parts, in whatever order an object's keys are. */
function toKey(parts: unknown): string {
  return JSON.stringify(parts, (_name, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}
