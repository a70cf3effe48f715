import { requireSignedApproval } from "../approvals/index.ts";
import type { Log } from "../log.ts";
import type { HookPort } from "../picoclaw/index.ts";
import { createApprovalVerifier } from "../signing/approval-token.ts";
import { parsePublicJwks } from "../signing/jwk.ts";
import { createKeySet, type KeySet } from "../signing/key-set.ts";
import { createSecretKey, createVerificationKey } from "../signing/keys.ts";
import type { JwksFetch } from "../signing/jwks-fetch.ts";
import { createRemoteKeySet } from "../signing/remote-key-set.ts";
import { createMemoryReplayStore, type ReplayStore } from "../signing/replay.ts";
import type { GatewayConfig } from "./gateway-schema.ts";
import type { HookPorts } from "./ports.ts";
import type { ApprovalTokenConfig, ProcessConfig } from "./process-schema.ts";
import { listSecrets } from "./signature.ts";

/** What signed approvals are verified with. */
export interface ApprovalTokenOptions extends Pick<HookPorts, "crypto" | "platform"> {
  readonly gateway: Pick<GatewayConfig, "id">;
  readonly log: Log;
  /** Remembers which approvals were used. @default in memory, so that a restart forgets them */
  readonly replay?: ReplayStore | undefined;
  /** Fetches the keys approval services publish. @default the platform's fetch */
  readonly fetchKeys?: JwksFetch | undefined;
}

/**
 * Makes a hook's approvals count only with a signed decision in them, where its entry says who signs those.
 * @throws {TypeError} when a key is not valid
 */
export async function withApprovalToken(
  port: HookPort,
  entry: ProcessConfig,
  options: ApprovalTokenOptions,
): Promise<HookPort> {
  if (entry.transport === "stdio" || entry.approval_token === undefined) return port;
  const { crypto, platform, gateway } = options;
  const now = platform?.epochNow;
  const verifier = createApprovalVerifier({
    keys: await createKeys(entry.approval_token, options),
    issuer: entry.approval_token.issuer,
    audience: gateway.id,
    replay: options.replay ?? createMemoryReplayStore({ now }),
    now,
  });
  return requireSignedApproval(port, { verifier, crypto });
}

async function createKeys(
  { key, secret, jwks_url: url }: ApprovalTokenConfig,
  options: ApprovalTokenOptions,
): Promise<KeySet> {
  const { crypto, platform, log, fetchKeys = platformFetch } = options;
  if (secret !== undefined) {
    return createKeySet(await Promise.all(listSecrets(secret).map((text) => createSecretKey(text, { crypto }))));
  }
  if (key !== undefined) {
    return createKeySet(await Promise.all(parsePublicJwks(key).map((jwk) => createVerificationKey(jwk, { crypto }))));
  }
  if (url === undefined) throw new TypeError("approval_token: one of key, jwks_url and secret must be given");
  return createRemoteKeySet({
    url,
    fetch: fetchKeys,
    crypto,
    now: platform?.epochNow,
    shareFetch: platform?.isolatesRequests !== true,
    waitUntil: platform?.waitUntil,
    log,
  });
}

const platformFetch: JwksFetch = (url, init) => fetch(url, init);
