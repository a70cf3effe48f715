import { type Hook, HookManager, type HookPort, type MountOptions } from "../../src/picoclaw/index.ts";
import { HookCallError, type NoVerdictKind } from "../../src/errors.ts";

/** A hook and how it is mounted. */
export type Mounted = Omit<MountOptions, "name"> & { readonly hook: Hook | HookPort };

/** A manager with these hooks, in the order in which they are given. */
export async function mountAll(
  hooks: Readonly<Record<string, Mounted>>,
  options?: ConstructorParameters<typeof HookManager>[0],
): Promise<HookManager> {
  const manager = new HookManager(options);
  let priority = 0;
  for (const [name, { hook, ...rest }] of Object.entries(hooks)) {
    await manager.mount(hook, { name, priority, ...rest });
    priority += 1;
  }
  return manager;
}

/** A hook that gives no verdict of this kind, at every point. */
export function failingWith(kind: NoVerdictKind): Hook {
  const fail = (): never => {
    throw new HookCallError(kind, "on purpose");
  };
  return { beforeLlm: fail, afterLlm: fail, beforeTool: fail, afterTool: fail, approveTool: fail };
}

/** A hook that approves. */
export const approves: Hook = { approveTool: () => ({ approved: true }) };

/** A hook that denies. */
export const denies: Hook = { approveTool: () => ({ approved: false, reason: "no" }) };

/** A hook that never answers. */
export const hangs: Hook = { approveTool: () => new Promise(() => {}), beforeTool: () => new Promise(() => {}) };
