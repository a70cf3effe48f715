import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { afterEach, expect, test } from "vitest";
import { createNodeHookEndpoint, type EndpointListener, serveEndpoint } from "../../../adapters/node/index.ts";
import type { Hook } from "../../../src/endpoint/index.ts";
import { createPrivateJwk, toPublicJwk } from "../../../src/signing/jwk.ts";
import { APPROVAL, AUDIENCE, createGatewaySide, GATEWAY, NAME, SECRET } from "../../endpoint/gateway-side.ts";

const BASE = { name: NAME, url: AUDIENCE, gateway: GATEWAY } as const;
let listener: EndpointListener | undefined;

afterEach(async () => {
  await listener?.close();
  listener = undefined;
});

async function serve(hook: Hook, options: object = { secret: SECRET }): Promise<string> {
  listener = await serveEndpoint(createNodeHookEndpoint(hook, { ...BASE, ...options }), { port: 0 });
  return listener.url;
}

/** A promise, and what settles it. */
function createSignal<T = void>(): { readonly seen: Promise<T>; readonly tell: (value: T) => void } {
  let tell: ((value: T) => void) | undefined;
  const seen = new Promise<T>((resolve) => {
    tell = resolve;
  });
  return { seen, tell: (value) => tell?.(value) };
}

test("a gateway that gives up aborts the handler", async () => {
  const started = createSignal();
  const aborted = createSignal<unknown>();
  const url = await serve({
    approveTool: (_request, { signal }) =>
      new Promise<undefined>((resolve) => {
        signal.addEventListener("abort", () => {
          aborted.tell(signal.reason);
          resolve(undefined);
        });
        started.tell();
      }),
  });
  const { manager, close } = await createGatewaySide(url);
  const host = new AbortController();
  const call = manager.approveTool({ tool: "x" }, { signal: host.signal }).catch(() => undefined);
  await started.seen;
  host.abort();
  expect(await aborted.seen).toMatchObject({ kind: "aborted" });
  await call;
  await close();
});

test("closing lets a call under way finish", async () => {
  const started = createSignal();
  const release = createSignal();
  const url = await serve({
    async approveTool() {
      started.tell();
      await release.seen;
      return { approved: true };
    },
  });
  const { manager, close } = await createGatewaySide(url);
  const call = manager.approveTool({ tool: "x" });
  await started.seen;
  const closed = listener?.close();
  release.tell();
  expect(await call).toMatchObject({ approved: true });
  await closed;
  await close();
});

test("closing waits no longer than it may", async () => {
  const started = createSignal();
  const endpoint = createNodeHookEndpoint(
    {
      approveTool() {
        started.tell();
        return new Promise<never>(() => {});
      },
    },
    { ...BASE, unsigned: true },
  );
  listener = await serveEndpoint(endpoint, { port: 0, timeouts: { drainMs: 1 } });
  const sent = httpRequest(listener.url, { method: "POST", headers: { "content-type": "application/json" } });
  const failed = once(sent, "error");
  sent.end(APPROVAL);
  await started.seen;
  await listener.close();
  expect(await failed).toHaveLength(1);
});

test("a key that is none keeps it from starting", async () => {
  const own = await createPrivateJwk();
  const keys = { gateway: toPublicJwk(own), own: { ...own, d: (await createPrivateJwk()).d } };
  await expect(serve({}, { keys })).rejects.toMatchObject({ code: "ERR_CONFIG" });
});

test("an endpoint without keys answers no web page", async () => {
  const url = await serve({ approveTool: () => ({ approved: true }) }, { unsigned: true });
  const post = (headers: Record<string, string>): Promise<Response> =>
    fetch(url, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: APPROVAL });
  expect((await post({})).status).toBe(200);
  expect((await post({ origin: url })).status).toBe(403);
  expect((await post({ "content-type": "text/plain" })).status).toBe(415);
});
