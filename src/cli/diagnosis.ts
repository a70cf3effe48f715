import { createRemoteHook, type GatewayConfig, type HttpConfig, type RemoteHook } from "../config/index.ts";
import { HookCallError, isHookCallError } from "../errors.ts";
import type { Log } from "../log.ts";
import { decodeJsonObject } from "../signing/base64url.ts";
import { CLOCK_SKEW_SECONDS, SIGNATURE_HEADER } from "../signing/token.ts";
import { createUuidV7 } from "../signing/uuid.ts";
import { isVerificationError } from "../signing/verification-error.ts";
import { encodeRequest } from "../transport/http-body.ts";
import type { HttpReply } from "../transport/http-exchange.ts";
import { createFixedHeaders, createRequestHeaders } from "../transport/http-headers.ts";
import { checkHead, HttpStatusError, parseHttpReply } from "../transport/http-reply.ts";
import type { SignedMessage } from "../transport/signature.ts";
import { hintOf } from "./hints.ts";
import type { CliHost } from "./host.ts";

/** One step of looking at a hook that is called over HTTP. */
export interface Step {
  readonly step: "dns" | "connect" | "tls" | "hello" | "signature" | "clock";
  /** `skipped`: there was nothing to look at. */
  readonly outcome: "ok" | "failed" | "skipped";
  readonly ms: number;
  /** What was found, or what went wrong. */
  readonly found: string;
  /** What to do about it. */
  readonly hint?: string;
}

/** What {@link diagnose} looks at. */
export interface Patient {
  /** The hook's name. */
  readonly name: string;
  readonly entry: HttpConfig;
  readonly gateway: GatewayConfig;
}

const TIMEOUT_MS = 5000;
const MIB = 1_048_576;

/** Looks at a hook from the name of its host to the signature of its reply, each step by itself. */
export async function diagnose(
  { name, entry, gateway }: Patient,
  { host, log }: { readonly host: CliHost; readonly log: Log },
): Promise<readonly Step[]> {
  const steps: Step[] = [];
  for (const { step, ms, found = "", error } of await host.probe(entry.url, {
    allowPrivate: entry.allow_private,
    timeoutMs: TIMEOUT_MS,
  })) {
    if (error === undefined) steps.push({ step, outcome: "ok", ms, found });
    else steps.push({ step, outcome: "failed", ms, found: error, ...hintOf(step) });
  }
  if (steps.some(({ outcome }) => outcome === "failed")) return steps;
  const now = (): number => host.now();
  const remote = await createRemoteHook(entry, { ...host.ports, name, gateway, log, now });
  try {
    return [...steps, ...(await greet({ name, entry, gateway }, remote, { now, log }))];
  } finally {
    await remote.connection.exchange.close();
  }
}

interface Tools {
  readonly now: () => number;
  readonly log: Log;
}

async function greet(patient: Patient, remote: RemoteHook, tools: Tools): Promise<readonly Step[]> {
  const { now } = tools;
  const { greeting } = remote;
  if (greeting === undefined) {
    return [{ step: "hello", outcome: "skipped", ms: 0, found: 'it is not greeted: "handshake" is "none"' }];
  }
  const startedAtMs = now();
  const id = createUuidV7(Date.now());
  try {
    const { reply, signed } = await send(patient, remote, { ...tools, id });
    const ms = now() - startedAtMs;
    const hello = readHello(reply, id, (result) => greeting.accept(result));
    const named =
      typeof hello === "string" ? { outcome: "ok" as const, found: hello } : toFailure(hello.error, patient);
    const greeted: Step = { step: "hello", ms, ...named };
    // Before its keys are fetched, which takes its time.
    const clock = clockOf(reply, ms);
    const checked = await checkSignature(patient, { reply, signed, now });
    return [greeted, ...checked, clock];
  } catch (error) {
    return [{ step: "hello", ms: now() - startedAtMs, ...toFailure(error, patient) }];
  }
}

interface Sent {
  readonly reply: HttpReply;
  readonly signed: SignedMessage | undefined;
}

async function send(
  { name, entry }: Patient,
  { connection, signature, greeting }: RemoteHook,
  { id, log }: { readonly id: string; readonly log: Log },
): Promise<Sent> {
  const method = greeting?.method ?? "";
  const body = encodeRequest({ method, params: greeting?.params ?? "{}" }, id);
  const signed = await signature?.sign({ method, id, body });
  const fixed = createFixedHeaders(entry.headers, { hook: name, log });
  const controller = new AbortController();
  const timer = setTimeout(
    () => controller.abort(new HookCallError("timeout", `no reply within ${TIMEOUT_MS} ms`)),
    TIMEOUT_MS,
  );
  try {
    const reply = await connection.exchange.send({
      url: entry.url,
      headers: { ...createRequestHeaders({ fixed, id, remainingMs: TIMEOUT_MS }), ...signed?.headers },
      body: body.bytes,
      signal: controller.signal,
      maxBodyBytes: entry.max_message_bytes ?? MIB,
      // A refusal says why in its body.
      wantsBody: () => true,
    });
    return { reply, signed };
  } finally {
    clearTimeout(timer);
  }
}

/** The name the endpoint gives itself, or why its reply is none. */
function readHello(
  { head, body }: HttpReply,
  id: string,
  accept: (result: unknown) => void,
): string | { readonly error: unknown } {
  try {
    const refusal = checkHead(head, Number.MAX_SAFE_INTEGER);
    if (refusal !== undefined)
      throw refusal instanceof HttpStatusError ? new RefusedHello(refusal.status, body) : refusal;
    const result = parseHttpReply(body, id);
    accept(result);
    const name: unknown = typeof result === "object" && result !== null ? Reflect.get(result, "name") : undefined;
    return typeof name === "string" ? `it calls itself "${name}"` : "accepted";
  } catch (error) {
    return { error };
  }
}

/** A greeting that was answered with a status that is not 200, and the reason that was given. */
class RefusedHello extends Error {
  readonly reason: string | undefined;

  constructor(status: number, body: Uint8Array) {
    const { reason, message } = readRefusal(body);
    super(`HTTP status ${status}${message === undefined ? "" : `: ${message}`}`);
    this.reason = reason ?? (status === 401 || status === 403 ? "unauthorized" : `status_${status}`);
  }
}

function readRefusal(body: Uint8Array): { readonly reason?: string; readonly message?: string } {
  try {
    const error: unknown = Reflect.get(Object(JSON.parse(new TextDecoder().decode(body))), "error");
    const message: unknown = Reflect.get(Object(error), "message");
    const reason: unknown = Reflect.get(Object(Reflect.get(Object(error), "data")), "reason");
    return {
      ...(typeof reason === "string" ? { reason } : {}),
      ...(typeof message === "string" ? { message: message.slice(0, 200) } : {}),
    };
  } catch {
    return {};
  }
}

interface Failure {
  readonly outcome: "failed";
  readonly found: string;
  readonly hint?: string;
}

function toFailure(error: unknown, { entry, gateway }: Patient): Failure {
  const found = error instanceof Error ? error.message : String(error);
  const reason = error instanceof RefusedHello ? error.reason : isHookCallError(error) ? error.kind : "unknown";
  return { outcome: "failed", found, ...hintOf(`request:${reason ?? ""}`, { url: entry.url, id: gateway.id }) };
}

async function checkSignature(
  { name, entry, gateway }: Patient,
  { reply, signed, now }: Sent & { readonly now: () => number },
): Promise<readonly Step[]> {
  const step = "signature" as const;
  if (signed === undefined) return [{ step, outcome: "skipped", ms: 0, found: "nothing is signed" }];
  // An endpoint does not sign for somebody it does not know.
  if (reply.head.status !== 200) return [{ step, outcome: "skipped", ms: 0, found: "there is no reply to verify" }];
  const startedAtMs = now();
  try {
    await signed.verify(reply);
    const token = tokenOf(reply);
    const found = token === undefined ? "verified" : `verified, ${token.alg}, key ${token.kid}`;
    return [{ step, outcome: "ok", ms: now() - startedAtMs, found }];
  } catch (error) {
    const reason = isVerificationError(error) ? error.reason : "unknown";
    const found = error instanceof Error ? error.message : String(error);
    const hint = hintOf(`reply:${reason}`, { url: entry.url, id: gateway.id, name: tokenOf(reply)?.iss ?? name });
    return [{ step, outcome: "failed", ms: now() - startedAtMs, found, ...hint }];
  }
}

interface ReplyToken {
  readonly alg: string;
  readonly kid: string;
  readonly iss: string;
  /** Seconds since the epoch. */
  readonly iat: number | undefined;
}

/** What a reply's token says of itself; nothing is verified here. */
function tokenOf({ head }: HttpReply): ReplyToken | undefined {
  const [header = "", payload = ""] = head.header(SIGNATURE_HEADER)?.split(".") ?? [];
  const named = decodeJsonObject(header);
  const claims = decodeJsonObject(payload);
  if (named === undefined || claims === undefined) return undefined;
  const { iat } = claims;
  return {
    alg: String(named["alg"]),
    kid: String(named["kid"]),
    iss: String(claims["iss"]),
    iat: typeof iat === "number" ? iat : undefined,
  };
}

/** How far the endpoint's clock is from ours, as far as whole seconds tell. */
function clockOf(reply: HttpReply, ms: number): Step {
  const step = "clock" as const;
  const date = Date.parse(reply.head.header("date") ?? "");
  const iat = tokenOf(reply)?.iat;
  const theirsMs = iat === undefined ? date : iat * 1000;
  if (Number.isNaN(theirsMs)) return { step, outcome: "skipped", ms: 0, found: "the reply says no time" };
  // Whole seconds are cut off, so the middle of the second is the best guess.
  const skewMs = theirsMs + 500 - (Date.now() - ms / 2);
  const seconds = Math.max(0, Math.round((Math.abs(skewMs) - 500) / 1000));
  const found = seconds === 0 ? "the same" : `${seconds} s ${skewMs > 0 ? "ahead" : "behind"}`;
  if (seconds < CLOCK_SKEW_SECONDS) return { step, outcome: "ok", ms: 0, found };
  return { step, outcome: "failed", ms: 0, found, ...hintOf("clock") };
}
