import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { Agent } from "undici";
import { hashBody } from "../../adapters/node/body-hash.ts";
import { nodeCrypto as crypto } from "../../adapters/node/crypto.ts";
import { createHttpExchange } from "../../adapters/node/http-exchange.ts";
import { createPrivateJwk, type PrivateJwk, toPublicJwk } from "../../src/signing/jwk.ts";
import { createKeySet } from "../../src/signing/key-set.ts";
import {
  createSecretKey,
  createSigningKey,
  createVerificationKey,
  type SigningKey,
  type VerificationKey,
} from "../../src/signing/keys.ts";
import { createReplyVerifier } from "../../src/signing/reply.ts";
import { createRequestSigner } from "../../src/signing/request.ts";
import { createHttpTransport } from "../../src/transport/http.ts";
import { createJwsSignature, type MessageSignature } from "../../src/transport/signature.ts";

const ECHO = fileURLToPath(new URL("peers/http-echo.ts", import.meta.url));
const PARAMS = { meta: { AgentID: "a", TurnID: "t" }, tool: "shell", arguments: { command: "x".repeat(700) } };

/** What was measured of one way to call; the medians of the rounds. */
export interface HttpBenchRow {
  readonly name: string;
  /** Calls a second, 16 in flight. */
  readonly inFlight16: number;
  /** The median duration of a call, one at a time, in microseconds. */
  readonly p50Us: number;
  /** Processor time of a call with 16 in flight, in microseconds: what a busy machine cannot distort. */
  readonly callerCpuUs: number;
  /** The same of the endpoint. */
  readonly endpointCpuUs: number;
}

interface Contestant {
  readonly name: string;
  call(): Promise<unknown>;
  close(): Promise<void>;
}

/** The least anyone can do: the same JSON in a POST, and the reply's JSON. */
function createBare(origin: string): Contestant {
  const agent = new Agent({ connections: 64, allowH2: false, headersTimeout: 0, bodyTimeout: 0 });
  const headers = { "content-type": "application/json" };
  return {
    name: "undici request",
    async call() {
      const id = globalThis.crypto.randomUUID();
      const body = JSON.stringify({ jsonrpc: "2.0", method: "hook.before_tool", params: PARAMS, id });
      const response = await agent.request({ origin, path: "/", method: "POST", headers, body });
      return response.body.json();
    },
    close: () => agent.close(),
  };
}

/** The same with what every call has to have: a deadline of its own. */
function createBareWithDeadline(origin: string): Contestant {
  const agent = new Agent({ connections: 64, allowH2: false, headersTimeout: 0, bodyTimeout: 0 });
  const headers = { "content-type": "application/json" };
  return {
    name: "undici request with a deadline",
    async call() {
      const controller = new AbortController();
      const timer = setTimeout(() => controller.abort(), 5000);
      try {
        const id = globalThis.crypto.randomUUID();
        const body = JSON.stringify({ jsonrpc: "2.0", method: "hook.before_tool", params: PARAMS, id });
        const response = await agent.request({
          origin,
          path: "/",
          method: "POST",
          headers,
          body,
          signal: controller.signal,
        });
        return await response.body.json();
      } finally {
        clearTimeout(timer);
      }
    },
    close: () => agent.close(),
  };
}

function createTransport(name: string, url: string, signature?: MessageSignature): Contestant {
  const signing = signature === undefined ? { unsigned: true } : { signature };
  const transport = createHttpTransport({ name: "bench", url, exchange: createHttpExchange(), ...signing });
  return {
    name,
    call: () => {
      const controller = new AbortController();
      const scope = { remainingMs: 5000, signal: controller.signal, onAbort: () => {} };
      return transport.call({ method: "hook.before_tool", params: JSON.stringify(PARAMS), payload: {} }, scope);
    },
    close: () => transport.close(),
  };
}

function createSignature(audience: string, key: SigningKey, verification: VerificationKey): MessageSignature {
  return createJwsSignature({
    signer: createRequestSigner({ key, issuer: "gateway", audience, crypto }),
    verifier: createReplyVerifier({
      keys: createKeySet([verification]),
      issuer: "endpoint",
      audience: "gateway",
      crypto,
    }),
    hashBody,
  });
}

async function createSigned(
  origin: string,
  secret: string,
  jwks: readonly PrivateJwk[],
): Promise<readonly Contestant[]> {
  const shared = await createSecretKey(secret, { crypto });
  const contestants = [
    createTransport("hookgate, HS256", `${origin}/HS256`, createSignature("/HS256", shared, shared)),
  ];
  for (const jwk of jwks) {
    const key = await createSigningKey(jwk, { crypto });
    const signature = createSignature(`/${jwk.alg}`, key, await createVerificationKey(toPublicJwk(jwk), { crypto }));
    contestants.push(createTransport(`hookgate, ${jwk.alg}`, `${origin}/${jwk.alg}`, signature));
  }
  return contestants;
}

interface Load {
  readonly calls: number;
  readonly lanes: number;
}

interface Sample {
  readonly perSecond: number;
  readonly p50Us: number;
  readonly callerCpuUs: number;
  readonly endpointCpuUs: number;
}

async function measure(
  { call }: Contestant,
  { calls, lanes }: Load,
  readEndpointCpu: () => Promise<number>,
): Promise<Sample> {
  const durations: number[] = [];
  const endpointAtUs = await readEndpointCpu();
  const caller = process.cpuUsage();
  const startedAtMs = performance.now();
  const lane = async (): Promise<void> => {
    for (let done = 0; done < calls / lanes; done += 1) {
      const callAtMs = performance.now();
      await call();
      durations.push(performance.now() - callAtMs);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  const perSecond = calls / ((performance.now() - startedAtMs) / 1000);
  const { user, system } = process.cpuUsage(caller);
  const endpointCpuUs = ((await readEndpointCpu()) - endpointAtUs) / calls;
  return { perSecond, p50Us: 1000 * median(durations), callerCpuUs: (user + system) / calls, endpointCpuUs };
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/**
 * Measures calls over HTTP against undici's own request, posting the same JSON to the same server in a process of its
 * own, and what signing both ways adds. The contestants take turns, so that what else the machine does meets all of them.
 */
export async function benchHttp({ rounds = 7, calls = 3000 } = {}): Promise<readonly HttpBenchRow[]> {
  const secret = randomBytes(32).toString("hex");
  const jwks = [await createPrivateJwk("ES256"), await createPrivateJwk("EdDSA")];
  const child = spawn(process.execPath, [ECHO], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(JSON.stringify({ secret, jwks }));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const origin = `http://127.0.0.1:${Number(line.toString())}`;
  const contestants = [
    createBare(origin),
    createBareWithDeadline(origin),
    createTransport("hookgate, unsigned", `${origin}/`),
    ...(await createSigned(origin, secret, jwks)),
  ];
  const readCpu = async (): Promise<number> => Number(await (await fetch(`${origin}/cpu`)).text());
  const samples = contestants.map((contestant) => ({ contestant, together: [] as Sample[], alone: [] as Sample[] }));
  for (const contestant of contestants) await measure(contestant, { calls, lanes: 16 }, readCpu);
  for (let round = 0; round < rounds; round += 1) {
    for (const { contestant, together, alone } of samples) {
      together.push(await measure(contestant, { calls: 2 * calls, lanes: 16 }, readCpu));
      alone.push(await measure(contestant, { calls, lanes: 1 }, readCpu));
    }
  }
  for (const contestant of contestants) await contestant.close();
  child.kill();
  return samples.map(({ contestant, together, alone }) => ({
    name: contestant.name,
    inFlight16: median(together.map(({ perSecond }) => perSecond)),
    p50Us: median(alone.map(({ p50Us }) => p50Us)),
    callerCpuUs: median(together.map(({ callerCpuUs }) => callerCpuUs)),
    endpointCpuUs: median(together.map(({ endpointCpuUs }) => endpointCpuUs)),
  }));
}

function ratio(value: number, base: number | undefined): string {
  return `${(value / (base ?? 1)).toFixed(2)}x`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rows = await benchHttp();
  const bare = rows[0];
  const unsigned = rows.find(({ name }) => name === "hookgate, unsigned");
  for (const { name, inFlight16, p50Us, callerCpuUs, endpointCpuUs } of rows) {
    const ofBare = `${ratio(inFlight16, bare?.inFlight16)}, p50 ${ratio(p50Us, bare?.p50Us)} of undici`;
    const ofUnsigned = `${ratio(inFlight16, unsigned?.inFlight16)}, p50 ${ratio(p50Us, unsigned?.p50Us)} of unsigned`;
    const cpu = `${Math.round(callerCpuUs)} + ${Math.round(endpointCpuUs)} us of processor time`;
    console.log(`${name}: ${Math.round(inFlight16)}/s 16 in flight, p50 ${Math.round(p50Us)} us, ${cpu}`);
    console.log(`  ${ofBare}; ${ofUnsigned}`);
  }
}
