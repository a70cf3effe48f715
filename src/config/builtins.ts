import { HUMAN_APPROVAL, type OptionalApprovalParts, registerHumanApproval } from "../approvals/index.ts";
import { type BuiltinRegistry, createBuiltinRegistry } from "../picoclaw/index.ts";

/** What {@link createBuiltins} works with. */
export interface BuiltinsParts extends OptionalApprovalParts {
  /** The hooks there are besides; it is left as it is. One of its own called `human_approval` stays. @default hookgate's own */
  readonly registry?: BuiltinRegistry | undefined;
}

/**
 * The hooks a config file can name: those of the registry, and `human_approval`.
 * @param parts - What people are asked with. @default a config can be checked, and one with `human_approval` not be started
 */
export function createBuiltins({ registry: own, ...parts }: BuiltinsParts = {}): BuiltinRegistry {
  const registry = own?.copy() ?? createBuiltinRegistry();
  if (!registry.names.includes(HUMAN_APPROVAL)) registerHumanApproval(registry, parts);
  return registry;
}
