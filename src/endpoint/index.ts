/**
 * For hook authors: a hook behind a URL, or on stdio.
 * @module
 */

export { defineHook, type Hook, type HookContext } from "../picoclaw/hook.ts";
export { createMemoryReplayStore, type MemoryReplayStoreOptions, type ReplayStore } from "../signing/replay.ts";
export { createRemoteKeySet, type RemoteKeySet, type RemoteKeySetOptions } from "../signing/remote-key-set.ts";
export { createHookEndpoint, type HookEndpoint, type RequestContext } from "./hook-endpoint.ts";
export type { EndpointKeys, EndpointSecret, HookEndpointOptions, SignatureScheme } from "./options.ts";
export { serveStdio, type ServeStdioOptions, type StdioContext, type StdioHandle } from "./serve-stdio.ts";
