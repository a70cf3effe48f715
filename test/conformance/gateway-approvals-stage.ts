import type { Approval, ApprovalManagerOptions } from "../../src/approvals/index.ts";
import { createGateway, type Gateway, type GatewayOptions } from "../../src/gateway/index.ts";
import { type Answer, errorOf, requestOf, type RequestParts, toAnswer } from "./gateway-fixture.ts";
import { type HumanStage, openHumanStage } from "./human-approval-stage.ts";

/** A gateway that asks people, and what is behind it. */
export interface ApprovalGateway extends HumanStage {
  readonly gateway: Gateway;
  /** What it answers to a GET, or to what else is said. */
  at(path: string, parts?: RequestParts): Promise<Answer>;
  /** What it answers to a POST of JSON. */
  send(path: string, body: unknown, headers?: RequestParts["headers"]): Promise<Answer>;
  /** The id of an approval that is pending. */
  pend(args?: Record<string, unknown>): Promise<string>;
}

/** Opens an {@link ApprovalGateway} with one rule, or with these. Its calls do not wait unless a rule says so. */
export async function openApprovalGateway(
  rules: object | readonly object[] = {},
  options: Partial<GatewayOptions> = {},
  managing: Partial<ApprovalManagerOptions> = {},
): Promise<ApprovalGateway> {
  const given = Array.isArray(rules) ? rules : [rules];
  const stage = await openHumanStage(
    given.map((rule: object) => ({ wait_ms: 0, ...rule })),
    managing,
  );
  const { host, approvals } = stage;
  const gateway = createGateway({ host, hooks: () => host.hooks(), approvals, ...options });
  const at = async (path: string, parts: RequestParts = {}): Promise<Answer> =>
    toAnswer(await gateway.fetch(requestOf({ method: "GET", path, ...parts })));
  return {
    ...stage,
    gateway,
    at,
    send: (path, body, headers = {}) => at(path, { method: "POST", body: JSON.stringify(body), headers }),
    async pend(args = { command: "ls" }) {
      const { approval } = await host.approveTool({ tool: "exec", arguments: args });
      return approval?.id ?? "";
    },
  };
}

/** The status of an answer, and the approval's or the reason of the refusal. */
export function outcome({ status, json }: Answer): readonly unknown[] {
  if (status === 200) return [status, toApproval(json).status];
  const { data } = errorOf(json);
  return [status, (data as { readonly reason?: unknown } | undefined)?.reason];
}

/** An answer's value as an approval. */
export function toApproval(json: unknown): Approval {
  return json as Approval;
}
