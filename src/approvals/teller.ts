/** The Worker of an object of approvals, as it is called where it is defined. */
export interface ApprovalTeller<Env, Context> {
  /**
   * Takes what is to be told of approvals, and tells it; the object in which it waits calls this, and no URL leads here.
   * @param argument - A call from elsewhere has one.
   * @throws {Error} when the gateway cannot be used
   */
  tellApprovals(argument: null, env: Env, context: Context): Promise<void>;
}

interface RemoteTeller {
  tellApprovals(argument: null): Promise<void>;
}

/**
 * Has the default export among those of an object's own Worker take what is to be told of approvals.
 * @throws {TypeError} when a Worker cannot reach its own exports here
 * @throws {Error} what the Worker throws, or that it has no such method
 */
export async function askTeller(exports: object | undefined): Promise<void> {
  const worker: unknown = exports && Reflect.get(exports, "default");
  if (isTeller(worker)) return worker.tellApprovals(null);
  throw new TypeError("a Worker reaches itself from compatibility date 2025-11-17, or with enable_ctx_exports");
}

/** Which methods it has cannot be seen from here: a call to one it does not have fails. */
function isTeller(value: unknown): value is RemoteTeller {
  const isStub = (typeof value === "object" || typeof value === "function") && value !== null;
  return isStub && typeof Reflect.get(value, "tellApprovals") === "function";
}
