import { env, WorkerEntrypoint } from "cloudflare:workers";
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

/** The gateway of the tests: what the objects of approvals ask of the Worker. */
export const gateway: { tell: () => Promise<void> } = { tell: () => Promise.resolve() };

/** Makes a gateway that takes what an object has to tell, and drops it. */
export function toDeaf(object: string): () => Promise<void> {
  return async () => {
    const peer = env.APPROVALS.getByName(object);
    const { taken } = await peer.exchange([], 10);
    await peer.exchange(
      taken.map(({ seq, attempt }) => ({ seq, attempt, outcome: "delivered" as const })),
      0,
    );
  };
}

/** A class, since the pool that runs the tests calls no other Worker but by `fetch`. */
export default class extends WorkerEntrypoint {
  override fetch(): Response {
    return new Response();
  }

  tellApprovals(): Promise<void> {
    return gateway.tell();
  }
}
