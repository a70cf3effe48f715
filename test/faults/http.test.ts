import { getEventListeners } from "node:events";
import process from "node:process";
import { beforeAll, describe, expect, test } from "vitest";
import { HOOK_POINTS } from "../../src/picoclaw/index.ts";
import { createFaultServer, type FaultServer, SELF_SIGNED, toJson, toReply } from "./server.ts";
import { createStage, EXCHANGES, outcomesOf, type Seen, type Stage, type StageOptions, toOutcomes } from "./stage.ts";
import { type Fault, FAULTS } from "./table.ts";

type ExchangeName = keyof typeof EXCHANGES;

const host = new AbortController();

/** What keeps a process alive: sockets, servers, look-ups and timers. */
function resources(): readonly string[] {
  return process
    .getActiveResourcesInfo()
    .filter((name) => /TCP|TLS|Timeout|GetAddrInfo/.test(name))
    .toSorted();
}

async function settledResources(expected: readonly string[]): Promise<readonly string[]> {
  // Sockets are let go of in the next turns of the loop; nothing here waits for a time to pass.
  for (let turn = 0; turn < 1000; turn += 1) {
    if (JSON.stringify(resources()) === JSON.stringify(expected)) break;
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  return resources();
}

let before: readonly string[] = [];

beforeAll(() => {
  before = resources();
});

function answerOf({ answer, hello }: Fault): Fault["answer"] {
  if (hello === undefined) return answer;
  return (received) => {
    if (received.message.method === "hook.hello") received.socket.write(toReply(toJson(received, { result: hello })));
    else answer(received);
  };
}

async function run(fault: Fault, exchange: ExchangeName): Promise<{ seen: readonly Seen[]; server: FaultServer }> {
  const server = await createFaultServer(answerOf(fault), { tls: fault.tls === true });
  const stage = await createStage({
    url: `${fault.tls === true ? "https" : "http"}://127.0.0.1:${server.port}/hook`,
    exchange: EXCHANGES[exchange](),
    timeoutMs: fault.timeoutMs,
    greets: fault.hello !== undefined,
    hostSignal: host.signal,
  });
  try {
    return { seen: await stage.askAll(), server };
  } finally {
    await stage.close();
    await server.close();
  }
}

async function ask(stage: Stage): Promise<readonly Seen[]> {
  try {
    return await stage.askAll();
  } finally {
    await stage.close();
  }
}

describe.each(["undici", "fetch"] as const)("over %s", (exchange) => {
  test.each(FAULTS)("$name", async (fault) => {
    const { seen, server } = await run(fault, exchange);
    expect(toOutcomes(seen)).toEqual(outcomesOf(typeof fault.kind === "object" ? fault.kind[exchange] : fault.kind));
    const { hello, requestsPerCall = 1 } = fault;
    expect(server.requestCount).toBe((hello === undefined ? 0 : 1) + HOOK_POINTS.length * requestsPerCall);
    expect(seen.map(({ record }) => record?.attempt)).toEqual(HOOK_POINTS.map(() => Math.max(1, requestsPerCall)));
  });

  test("a verdict", async () => {
    const fault: Fault = { name: "", kind: "verdict", answer: (it) => it.socket.write(toReply(toJson(it))) };
    expect(toOutcomes((await run(fault, exchange)).seen)).toEqual(outcomesOf("verdict"));
  });

  test("refused", async () => {
    const server = await createFaultServer(() => {});
    await server.close();
    const url = `http://127.0.0.1:${server.port}/`;
    expect(toOutcomes(await ask(await createStage({ url, exchange: EXCHANGES[exchange]() })))).toEqual(
      outcomesOf("unreachable"),
    );
  });

  test("a TLS handshake that stalls", async () => {
    const server = await createFaultServer(() => {}, { onConnection: (socket) => socket.resume() });
    const url = `https://127.0.0.1:${server.port}/`;
    expect(toOutcomes(await ask(await createStage({ url, exchange: EXCHANGES[exchange](), timeoutMs: 250 })))).toEqual(
      outcomesOf("timeout"),
    );
    await server.close();
  });

  test("TLS to a server that speaks none", async () => {
    const server = await createFaultServer(() => {}, {
      onConnection: (socket) => socket.end("HTTP/1.1 400 Bad\r\n\r\n"),
    });
    const url = `https://127.0.0.1:${server.port}/`;
    expect(toOutcomes(await ask(await createStage({ url, exchange: EXCHANGES[exchange]() })))).toEqual(
      outcomesOf("unreachable"),
    );
    await server.close();
  });

  test("the host gives up while the hook is slow", async () => {
    const server = await createFaultServer(() => controller.abort(new Error("gone")));
    const controller = new AbortController();
    const stage = await createStage({
      url: `http://127.0.0.1:${server.port}/`,
      exchange: EXCHANGES[exchange](),
      hostSignal: controller.signal,
    });
    await expect(stage.askAll()).rejects.toMatchObject({ code: "ERR_ABORTED" });
    expect(stage.transport.status().circuitOpen).toBe(false);
    await stage.close();
    await server.close();
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
  });
});

/** Without a signature only what needs no network may approve; that rule is not what is tested here. */
async function askBound(options: StageOptions): Promise<readonly Seen[]> {
  return ask(await createStage({ ...options, isBinding: true }));
}

async function askName(name: string, options: Parameters<typeof EXCHANGES.undici>[0]): Promise<readonly Seen[]> {
  return askBound({ url: `https://${name}/`, exchange: EXCHANGES.undici(options) });
}

describe("names and addresses, over undici", () => {
  test.each([
    ["169.254.169.254"],
    ["fe80::1"],
    ["fd00:ec2::254"],
    ["::ffff:169.254.169.254"],
    ["64:ff9b::a9fe:a9fe"],
    ["not an address"],
  ])("a name that resolves to %s", async (address) => {
    const family = address.includes(":") ? 6 : 4;
    const seen = await askName("hook.test", { resolveName: (_n, _o, done) => done(null, [{ address, family }]) });
    expect(toOutcomes(seen)).toEqual(outcomesOf("unreachable"));
    expect(seen[0]?.record?.error).toContain("its address is not allowed");
  });

  test("a name of which one address of several is forbidden", async () => {
    const addresses = [
      { address: "127.0.0.1", family: 4 },
      { address: "169.254.169.254", family: 4 },
    ];
    expect(toOutcomes(await askName("hook.test", { resolveName: (_n, _o, done) => done(null, addresses) }))).toEqual(
      outcomesOf("unreachable"),
    );
  });

  test("a name that resolves to a private address, where those are not allowed", async () => {
    const seen = await askName("hook.test", {
      allowPrivate: false,
      resolveName: (_n, _o, done) => done(null, [{ address: "10.0.0.1", family: 4 }]),
    });
    expect(toOutcomes(seen)).toEqual(outcomesOf("unreachable"));
    expect(seen[0]?.record?.error).toContain("its address is not allowed");
  });

  test("http to a name that leads away from this machine", async () => {
    const stage = await createStage({
      url: "http://localhost:1/",
      exchange: EXCHANGES.undici({ resolveName: (_n, _o, done) => done(null, [{ address: "192.0.2.1", family: 4 }]) }),
    });
    const seen = await ask(stage);
    expect(toOutcomes(seen)).toEqual(outcomesOf("unreachable"));
    expect(seen[0]?.record?.error).toContain("its address is not allowed");
  });

  test("a private address in the URL, where those are not allowed when connecting", async () => {
    const server = await createFaultServer((received) => received.socket.write(toReply(toJson(received))));
    const exchange = EXCHANGES.undici({ allowPrivate: false });
    const seen = await ask(await createStage({ url: `http://127.0.0.1:${server.port}/`, exchange }));
    expect(toOutcomes(seen)).toEqual(outcomesOf("unreachable"));
    expect(server.requestCount).toBe(0);
    await server.close();
  });

  test("a name that does not resolve", async () => {
    const error = Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" });
    const seen = await askName("hook.test", { resolveName: (_n, _o, done) => done(error, []) });
    expect(toOutcomes(seen)).toEqual(outcomesOf("unreachable"));
    expect(seen[0]?.record?.error).toContain("its name cannot be resolved");
    expect(seen[0]?.record?.attempt).toBe(2);
  });

  test("a resolver that does not answer", async () => {
    const exchange = EXCHANGES.undici({ resolveName: () => {} });
    expect(toOutcomes(await askBound({ url: "https://hook.test/", exchange, timeoutMs: 250 }))).toEqual(
      outcomesOf("timeout"),
    );
  });

  test("a certificate that is trusted, for another name", async () => {
    const server = await createFaultServer((it) => it.socket.write(toReply(toJson(it))), { tls: true });
    const resolveName: Parameters<typeof EXCHANGES.undici>[0] = {
      ca: SELF_SIGNED,
      resolveName: (_n, _o, done) => done(null, [{ address: "127.0.0.1", family: 4 }]),
    };
    const other = { url: `https://other.test:${server.port}/`, exchange: EXCHANGES.undici(resolveName) };
    expect(toOutcomes(await askBound(other))).toEqual(outcomesOf("unreachable"));
    const own = { url: `https://localhost:${server.port}/`, exchange: EXCHANGES.undici(resolveName) };
    expect(toOutcomes(await askBound(own))).toEqual(outcomesOf("verdict"));
    await server.close();
  });

  test("an approval without a signature, from another machine", async () => {
    const exchange = EXCHANGES.undici({
      resolveName: (_n, _o, done) => done(null, [{ address: "127.0.0.1", family: 4 }]),
    });
    const seen = await ask(await createStage({ url: "https://hook.test:1/", exchange }));
    expect(seen.map(({ goesOn, record }) => [record?.kind, goesOn])).toEqual([
      ["unreachable", true],
      ["unreachable", true],
      ["unreachable", true],
      ["unsigned_reply", false],
      ["unreachable", true],
    ]);
  });
});

test("after all of it no socket, timer or listener is left", async () => {
  expect(await settledResources(before)).toEqual(before);
  expect(getEventListeners(host.signal, "abort")).toHaveLength(0);
});
