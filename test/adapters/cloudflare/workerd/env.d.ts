import type { TestApprovals, TestShard } from "./shards.ts";

declare global {
  namespace Cloudflare {
    interface Env {
      readonly REPLAY: DurableObjectNamespace<TestShard>;
      readonly APPROVALS: DurableObjectNamespace<TestApprovals>;
    }
  }
}
