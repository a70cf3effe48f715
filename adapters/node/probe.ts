import { lookup } from "node:dns/promises";
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { ProbeOptions, ProbeStep } from "../../src/cli/index.ts";
import { toAddressScope } from "../../src/transport/ip-address.ts";

class ProbeError extends Error {}

/** Goes to where a URL leads, step by step, and sends nothing. The addresses that calls refuse are refused here too. */
export async function probe(text: string, options: ProbeOptions): Promise<readonly ProbeStep[]> {
  const url = new URL(text);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const isSecure = url.protocol === "https:";
  const port = Number(url.port === "" ? (isSecure ? 443 : 80) : url.port);
  const steps: ProbeStep[] = [];
  const deadlineAtMs = performance.now() + options.timeoutMs;
  const run = async <T>(step: ProbeStep["step"], act: () => Promise<{ readonly found: string; readonly value: T }>) => {
    const startedAtMs = performance.now();
    try {
      const { found, value } = await within(act(), deadlineAtMs - startedAtMs);
      steps.push({ step, ms: performance.now() - startedAtMs, found });
      return value;
    } catch (error) {
      steps.push({ step, ms: performance.now() - startedAtMs, error: describe(error) });
      return undefined;
    }
  };
  const address = await run("dns", () => resolve(host, options));
  if (address === undefined) return steps;
  const socket = await run("connect", () => open(address, port));
  if (socket === undefined) return steps;
  if (isSecure) await run("tls", () => secure(socket, host)).then((secured) => secured?.destroy());
  socket.destroy();
  return steps;
}

async function resolve(host: string, { allowPrivate }: ProbeOptions): Promise<{ found: string; value: string }> {
  const all = isIP(host) === 0 ? await lookup(host, { all: true }) : [{ address: host }];
  const addresses = all.map(({ address }) => address);
  for (const address of addresses) {
    const scope = toAddressScope(address);
    if (scope === undefined || scope === "forbidden") {
      throw new ProbeError(`${address} is a link-local or cloud metadata address, which is never called`);
    }
    if (!allowPrivate && scope !== "public") {
      throw new ProbeError(`${address} is a private address, which "allow_private": false refuses`);
    }
  }
  const [value] = addresses;
  if (value === undefined) throw new ProbeError("the name has no address");
  return { found: addresses.join(", "), value };
}

function open(address: string, port: number): Promise<{ found: string; value: Socket }> {
  return new Promise((settle, reject) => {
    const socket = connectTcp({ host: address, port });
    socket.once("connect", () => settle({ found: `${address} port ${port}`, value: socket }));
    socket.once("error", reject);
  });
}

function secure(socket: Socket, host: string): Promise<{ found: string; value: TLSSocket }> {
  return new Promise((settle, reject) => {
    const secured = connectTls({ socket, host, ...(isIP(host) === 0 ? { servername: host } : {}) });
    secured.once("secureConnect", () => {
      const { valid_to: validTo } = secured.getPeerCertificate();
      settle({ found: `${secured.getProtocol() ?? "TLS"}, valid until ${validTo}`, value: secured });
    });
    secured.once("error", reject);
  });
}

async function within<T>(act: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new ProbeError("no answer in time")), Math.max(1, timeoutMs));
  });
  try {
    return await Promise.race([act, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

const TEXTS: ReadonlyMap<string, string> = new Map([
  ["ENOTFOUND", "the name is not known"],
  ["EAI_AGAIN", "the name server does not answer"],
  ["ECONNREFUSED", "the connection was refused"],
  ["ECONNRESET", "the connection was closed"],
  ["EHOSTUNREACH", "there is no way to the address"],
  ["ENETUNREACH", "there is no way to the network"],
  ["ETIMEDOUT", "no answer in time"],
  ["ERR_SSL_WRONG_VERSION_NUMBER", "what listens there does not speak TLS"],
  ["ERR_SSL_PACKET_LENGTH_TOO_LONG", "what listens there does not speak TLS"],
]);

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error ? String(error.code) : "";
  // The message of OpenSSL has the line of its source.
  const text = "reason" in error && typeof error.reason === "string" ? error.reason : error.message;
  return TEXTS.get(code) ?? (code === "" || error instanceof ProbeError ? error.message : `${text} (${code})`);
}
