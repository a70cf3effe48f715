import { ApprovalsObject } from "../../../../adapters/cloudflare/approvals.ts";
import { ReplayShard } from "../../../../adapters/cloudflare/replay.ts";

/** What the objects of the tests take for the time. */
export const clock = { nowMs: Date.now() };

/** A shard whose clock the tests set. */
export class TestShard extends ReplayShard {
  override now = (): number => clock.nowMs;
}

/** An object of approvals whose clock the tests set. */
export class TestApprovals extends ApprovalsObject {
  override now = (): number => clock.nowMs;
}

export default {
  fetch: (): Response => new Response(),
};
