/**
 * A gateway with `human_approval`, as a process that is killed: by whoever started it, or by itself at one step of its
 * work with the store. Arguments: the address of the store, and when to die, such as `before 3`, `after 3` or `never 0`.
 */
import process from "node:process";
import { openApprovals } from "../../adapters/node/open-approvals.ts";
import { serveGateway } from "../../adapters/node/index.ts";
import { ApprovalManager, type ApprovalStore, createHumanApprovalHook } from "../../src/approvals/index.ts";
import { parseStoreAddress } from "../../src/config/approvals-schema.ts";
import { createGateway } from "../../src/gateway/index.ts";
import { HookManager } from "../../src/picoclaw/index.ts";

const [, , addressText = "", when = "never", stepText = "0"] = process.argv;
const address = parseStoreAddress(addressText);
const opened = address && openApprovals(address, { baseDir: "." });
if (opened === undefined) throw new Error(`no store at ${addressText}`);

const dieAtStep = Number(stepText);
let steps = 0;

function die(): void {
  process.kill(process.pid, "SIGKILL");
}

/** The store, which kills the process before or after one of its steps. */
function deadly(store: ApprovalStore): ApprovalStore {
  return new Proxy(store, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== "function") return value;
      return async (...args: unknown[]): Promise<unknown> => {
        steps += 1;
        const isLast = steps === dieAtStep;
        if (isLast && when === "before") die();
        const result: unknown = await Reflect.apply(value, target, args);
        if (isLast && when === "after") die();
        return result;
      };
    },
  });
}

const approvals = new ApprovalManager({ store: deadly(opened) });
const times = { expires_ms: 86_400_000, use_within_ms: 86_400_000, wait_ms: 0, denial_holds_ms: 0 };
const rule = { require: 1, approvers: [], ...times, reason: "r" };
const host = new HookManager();
await host.mount(createHumanApprovalHook({ rules: [rule] }, { approvals }), { name: "human_approval" });
const gateway = createGateway({ host, hooks: () => host.hooks(), approvals });
const { url } = await serveGateway(gateway, { port: 0 });
process.stdout.write(`${url}\n`);
