import { type OptionalApprovalParts, registerHumanApproval } from "../approvals/index.ts";
import { type BuiltinRegistry, createBuiltinRegistry } from "../picoclaw/index.ts";

/**
 * The hooks a config file can name: those of the registry, and `human_approval`.
 * @param parts - What people are asked with. @default a config can be checked, and one with `human_approval` not be started
 */
export function createBuiltins(parts?: OptionalApprovalParts): BuiltinRegistry {
  const registry = createBuiltinRegistry();
  registerHumanApproval(registry, parts);
  return registry;
}
