import { type ApprovalManager, registerHumanApproval } from "../approvals/index.ts";
import { type BuiltinRegistry, createBuiltinRegistry } from "../picoclaw/index.ts";

/**
 * The hooks a config file can name: those of the registry, and `human_approval`.
 * @param approvals - Where people are asked. @default a config can be checked, and one with `human_approval` not be started
 */
export function createBuiltins(approvals?: ApprovalManager): BuiltinRegistry {
  const registry = createBuiltinRegistry();
  registerHumanApproval(registry, approvals);
  return registry;
}
