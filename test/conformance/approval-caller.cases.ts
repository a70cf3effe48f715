import { toApprovalEvent, toDiscordMessage } from "../../src/approvals/index.ts";
import type { Hook } from "../../src/picoclaw/index.ts";
import { type Case, equal, ok } from "./case.ts";
import { casesOf, META, remoteHook, toolCall } from "./fixture.ts";
import { openApprovalGateway } from "./gateway-approvals-stage.ts";
import { callText, gatewayOf, post, tokenOf } from "./gateway-fixture.ts";

const CALL = callText("hook.approve_tool", { tool: "exec", arguments: { command: "ls" }, meta: META });

/** Who asked: the host as the gateway knows it. */
export const approvalCallerCases: readonly Case[] = casesOf(
  { topic: "approval-caller", source: "docs/approvals.md, Asking people" },
  {
    "an approval names the host that asked, by whatever the gateway knows it by": async () => {
      const { known, headers } = await tokenOf("bot", "call");
      const signer = { name: "fleet/agent-7", scopes: new Set(["call"] as const) };
      const authenticators = [() => signer];
      for (const [auth, name] of [
        [{ tokens: [known] }, "bot"],
        [{ authenticators }, "fleet/agent-7"],
      ] as const) {
        const { send, news } = await openApprovalGateway({}, { auth });
        await send("/rpc", JSON.parse(CALL), headers);
        await send("/rpc", JSON.parse(callText("hook.check_tool", { tool: "rm", arguments: {} })), headers);
        equal(
          news.map(([, { requester }]) => requester.caller),
          [name, name],
        );
        const [[kind, approval] = []] = news;
        ok(kind !== undefined && approval !== undefined, "nobody was asked");
        equal((toApprovalEvent(kind, approval).Payload as Readonly<Record<string, unknown>>)["Caller"], name);
        const message = JSON.stringify(toDiscordMessage({ news: kind, approval }));
        ok(message.includes(String.raw`**Host:** ${name.replace("/", "\\\\/").replace("-", "\\\\-")}`), message);
      }
    },
    "a host in the same process has no name": async () => {
      const { ask, news } = await openApprovalGateway();
      await ask(toolCall());
      const [[kind, approval] = []] = news;
      ok(kind !== undefined && approval !== undefined && !("caller" in approval.requester), "it has one");
      ok(!("Caller" in (toApprovalEvent(kind, approval).Payload as object)), "the event has one");
    },
    "the name is told to a hook in the process, and is in no payload": async () => {
      const { known, headers } = await tokenOf("bot-of-ann", "call");
      const callers: (string | undefined)[] = [];
      const payloads: unknown[] = [];
      const local: Hook = {
        beforeTool(call, { caller }) {
          callers.push(caller);
          payloads.push(call);
        },
        approveTool(request, { caller }) {
          callers.push(caller);
          payloads.push(request);
          return { approved: true };
        },
      };
      const remote = remoteHook(["before_tool", "approve_tool"], () => ({ action: "continue", approved: true }));
      const gateway = await gatewayOf({ local, remote: remote.port }, { auth: { tokens: [known] } });
      const { text } = await post(gateway, callText("hook.check_tool", { tool: "exec", arguments: {} }), headers);
      equal(callers, ["bot-of-ann", "bot-of-ann"]);
      equal([payloads.length, remote.sent.length], [2, 2]);
      const told = JSON.stringify([payloads, remote.sent, text]);
      ok(!told.includes("bot-of-ann"), told);
    },
  },
);
