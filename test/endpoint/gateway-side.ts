/** The gateway's side of an endpoint, over real sockets: a manager with one hook, and a way to send what no gateway sends. */
import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { nodeCrypto } from "../../adapters/node/crypto.ts";
import { createHttpExchange } from "../../adapters/node/http-exchange.ts";
import {
  createEventFilter,
  createGreeting,
  createRemotePort,
  HookManager,
  type HookPoint,
} from "../../src/picoclaw/index.ts";
import { createKeySet } from "../../src/signing/key-set.ts";
import { createSecretKey } from "../../src/signing/keys.ts";
import { createReplyVerifier } from "../../src/signing/reply.ts";
import { createRequestSigner, type RequestSignerOptions } from "../../src/signing/request.ts";
import type { Transport } from "../../src/transport/contract.ts";
import { createHttpTransport } from "../../src/transport/http.ts";
import { createJwsSignature } from "../../src/transport/signature.ts";

export const GATEWAY = "https://gateway.test";
export const NAME = "approvals";
/** What the endpoint is configured with. Its address is known only once it listens, and does not matter. */
export const AUDIENCE = "https://hooks.test/hook";
export const SECRET = "0123456789abcdef0123456789abcdef0123456789abcdef";
/** The environment of every example. */
export const ENV = { HOOK_SECRET: SECRET, HOOK_URL: AUDIENCE, HOOK_GATEWAY: GATEWAY, PORT: "0" } as const;

const FIRST_PIECE_CHARS = 16_384;
const POINTS: ReadonlySet<HookPoint> = new Set<HookPoint>(["before_tool", "approve_tool"]);
const crypto = nodeCrypto;

/** A manager with the endpoint as its one hook. */
export interface GatewaySide {
  readonly manager: HookManager;
  readonly transport: Transport;
  close(): Promise<void>;
}

/** Calls an endpoint as a gateway with this secret does. */
export async function createGatewaySide(url: string, secret: string = SECRET): Promise<GatewaySide> {
  const key = await createSecretKey(secret, { crypto });
  const signature = createJwsSignature({
    signer: createRequestSigner({ key, issuer: GATEWAY, audience: AUDIENCE, crypto }),
    verifier: createReplyVerifier({ keys: createKeySet([key]), issuer: NAME, audience: GATEWAY, crypto }),
  });
  const greeting = createGreeting({ name: NAME, points: POINTS, observes: true, transport: "http" });
  const transport = createHttpTransport({ name: NAME, url, exchange: createHttpExchange(), signature, greeting });
  const manager = new HookManager();
  const observes = createEventFilter(["*"]);
  await manager.mount(createRemotePort(transport, { source: "http", points: POINTS, observes }), { name: NAME });
  return { manager, transport, close: () => manager.close() };
}

/** A request of somebody who is no gateway, or no honest one. */
export interface Hostile {
  readonly method?: string;
  readonly body?: string;
  /** What is signed, where it is not the body. */
  readonly signedBody?: string;
  readonly mtd?: string;
  readonly contentType?: string;
  /** How often the signature header comes. @default 1 */
  readonly signatures?: number;
  readonly secret?: string;
  readonly signer?: Partial<Pick<RequestSignerOptions, "issuer" | "audience" | "now">>;
  /** How often the request is sent; only the last is judged. @default 1 */
  readonly arrivals?: number;
}

/** How an endpoint answered, as `STATUS CODE`; the code is `error.data.reason`. */
export async function answerTo(url: string, hostile: Hostile): Promise<string> {
  const { method = "POST", body = APPROVAL, contentType = "application/json", signatures = 1, arrivals = 1 } = hostile;
  const key = await createSecretKey(hostile.secret ?? SECRET, { crypto });
  const signer = createRequestSigner({ key, issuer: GATEWAY, audience: AUDIENCE, crypto, ...hostile.signer });
  const { token } = await signer.sign({
    body: Buffer.from(hostile.signedBody ?? body),
    method: hostile.mtd ?? "hook.approve_tool",
  });
  let answer = "";
  for (let arrival = 0; arrival < arrivals; arrival += 1) {
    const sent = httpRequest(url, { method, agent: false });
    sent.setHeader("content-type", contentType);
    if (signatures > 0)
      sent.setHeader(
        "hook-signature",
        Array.from({ length: signatures }, () => token),
      );
    const [response] = await send(sent, method === "GET" ? "" : body);
    let text = "";
    for await (const chunk of response) text += String(chunk);
    sent.destroy();
    const { error } = JSON.parse(text) as { error?: { message: string; data?: { reason?: string } } };
    if (/\bat .+:\d+|Traceback/.test(text)) throw new Error(`it shows too much: ${text}`);
    answer = `${response.statusCode} ${error === undefined ? "answered" : (error.data?.reason ?? error.message)}`;
  }
  return answer;
}

/**
 * Sends a body and waits for the answer. Of a long one only the beginning is sent before that: an endpoint that refuses it
 * closes the connection, and what is still on its way then may take the answer with it.
 */
async function send(sent: ClientRequest, body: string): Promise<[IncomingMessage]> {
  const answered = once(sent, "response") as Promise<[IncomingMessage]>;
  if (body !== "") sent.setHeader("content-length", Buffer.byteLength(body));
  if (body.length > FIRST_PIECE_CHARS) sent.write(body.slice(0, FIRST_PIECE_CHARS));
  else sent.end(body);
  const response = await answered;
  sent.on("error", () => {});
  return response;
}

export const APPROVAL = JSON.stringify({
  jsonrpc: "2.0",
  method: "hook.approve_tool",
  params: { tool: "read_file", arguments: {} },
  id: "019ab697-e800-7000-8000-000000000001",
});

const DENIAL = APPROVAL.replace("read_file", "shell_all");
const HOUR_MS = 3_600_000;

/** What every endpoint must refuse, and how. */
export const HOSTILE: readonly (readonly [name: string, hostile: Hostile, answer: string])[] = [
  ["an honest request", {}, "200 answered"],
  ["GET", { method: "GET" }, "405 not_post"],
  ["PUT", { method: "PUT" }, "405 not_post"],
  ["a form", { contentType: "application/x-www-form-urlencoded" }, "415 not_json"],
  ["2 MB", { body: " ".repeat(2_000_000) }, "413 body_too_large"],
  ["no signature", { signatures: 0 }, "401 signature_missing"],
  ["two signatures", { signatures: 2 }, "401 signature_duplicated"],
  ["another secret", { secret: SECRET.toUpperCase() }, "401 kid_unknown"],
  ["another gateway", { signer: { issuer: "https://other.test" } }, "401 iss_mismatch"],
  ["another audience", { signer: { audience: `${AUDIENCE}/` } }, "401 aud_mismatch"],
  ["an expired request", { signer: { now: () => Date.now() - HOUR_MS } }, "401 expired"],
  ["a request from the future", { signer: { now: () => Date.now() + HOUR_MS } }, "401 not_yet_valid"],
  ["another body", { signedBody: DENIAL }, "401 bh_mismatch"],
  ["another method", { mtd: "hook.before_tool" }, "401 mtd_mismatch"],
  ["a replayed request", { arrivals: 2 }, "401 replayed"],
];
