import process from "node:process";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { createSpawn } from "../../adapters/node/child-process.ts";
import { nodeCrypto as crypto } from "../../adapters/node/crypto.ts";
import { createHttpExchange } from "../../adapters/node/http-exchange.ts";
import { createNodeHookEndpoint, serveEndpoint } from "../../adapters/node/serve-endpoint.ts";
import { CallScope } from "../../src/chain/index.ts";
import { defineHook } from "../../src/picoclaw/index.ts";
import { createKeySet } from "../../src/signing/key-set.ts";
import { createSecretKey } from "../../src/signing/keys.ts";
import { createReplyVerifier } from "../../src/signing/reply.ts";
import { createRequestSigner } from "../../src/signing/request.ts";
import type { Transport } from "../../src/transport/contract.ts";
import { createHttpTransport } from "../../src/transport/http.ts";
import { createJwsSignature } from "../../src/transport/signature.ts";
import { createStdioTransport } from "../../src/transport/stdio.ts";

const ECHO = fileURLToPath(new URL("../bench/peers/echo-lines.ts", import.meta.url));
const LANES = 16;
const URL_OF_HOOK = "http://hook.test/";
/** What a call leaves is about 40; one that lives on until a full collection leaves 800 to 3000. */
const MAX_BYTES = 250;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as (options?: { readonly type: "minor" }) => void;

const METHOD = "hook.before_tool";
const params = JSON.stringify({ meta: {}, tool: "exec", arguments: { command: "x".repeat(200) } });
const now = (): number => performance.now();

async function run(transport: Transport, times: number): Promise<void> {
  const lane = async (): Promise<void> => {
    for (let done = 0; done < times / LANES; done += 1) {
      await transport.call({ method: METHOD, params, payload: {} }, new CallScope(now() + 10_000, now));
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

/** What a call leaves on the heap for the next full collection, in bytes. */
async function leftBytes(transport: Transport): Promise<number> {
  const times = 16_000;
  await run(transport, 4000);
  collect();
  const before = process.memoryUsage().heapUsed;
  await run(transport, times);
  collect({ type: "minor" });
  return (process.memoryUsage().heapUsed - before) / times;
}

// What is in flight when the collector looks is old when it looks again. If something old and done leads to what came
// after it, every call lives until a full collection, and copying them is what the collector then does all the time.
test("a call over stdio leaves nothing for a full collection", { timeout: 30_000 }, async () => {
  const greeting = { method: "hook.hello", params: "{}", accept: () => {} };
  const spawn = createSpawn({ command: [process.execPath, ECHO] });
  const transport = createStdioTransport({ name: "echo", spawn, greeting });
  expect(await leftBytes(transport)).toBeLessThan(MAX_BYTES);
  await transport.close();
});

test("a signed call over HTTP leaves nothing for a full collection, on either side", { timeout: 30_000 }, async () => {
  const hook = defineHook({ beforeTool: () => ({ action: "continue" }) });
  const secret = "s".repeat(32);
  const replay = { insert: () => true };
  const endpoint = createNodeHookEndpoint(hook, { name: "hook", gateway: "gateway", url: URL_OF_HOOK, secret, replay });
  const listener = await serveEndpoint(endpoint, { port: 0, overrideGlobalObjects: false });
  const key = await createSecretKey(secret, { crypto });
  const transport = createHttpTransport({
    name: "hook",
    url: listener.url,
    exchange: createHttpExchange(),
    signature: createJwsSignature({
      signer: createRequestSigner({ key, issuer: "gateway", audience: URL_OF_HOOK, crypto }),
      verifier: createReplyVerifier({ keys: createKeySet([key]), issuer: "hook", audience: "gateway", crypto }),
    }),
  });
  expect(await leftBytes(transport)).toBeLessThan(MAX_BYTES);
  await transport.close();
  await listener.close();
});
