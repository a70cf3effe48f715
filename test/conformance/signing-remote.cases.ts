import { silentLog } from "../../src/log.ts";
import type { Log } from "../../src/log.ts";
import { createPrivateJwk } from "../../src/signing/jwk.ts";
import { createSigningKey, toJwks } from "../../src/signing/keys.ts";
import type { SigningKey } from "../../src/signing/keys.ts";
import { createRemoteKeySet } from "../../src/signing/remote-key-set.ts";
import type { RemoteKeySet, RemoteKeySetOptions } from "../../src/signing/remote-key-set.ts";
import { equal, ok, rejects } from "./case.ts";
import type { Case } from "./case.ts";
import { BODY, createPair, createSide, NOW_MS, reasonOf, received, thrownBy } from "./signing-setting.ts";

const SOURCE = "http.md 2: remote JWKS";
const URL_ = "https://hooks.example.com/.well-known/jwks.json";
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

type Answer = () => Response | Promise<Response>;

/** A remote set with a clock and a server in hand. */
class Rig {
  nowMs = NOW_MS;
  fetches: RequestInit[] = [];
  warnings: string[] = [];
  waited: Promise<void>[] = [];
  answer: Answer;
  readonly keys: RemoteKeySet;

  constructor(answer: Answer, options: Partial<RemoteKeySetOptions> = {}) {
    this.answer = answer;
    const log: Log = { ...silentLog, warn: (message) => void this.warnings.push(message) };
    this.keys = createRemoteKeySet({
      url: URL_,
      fetch: async (url, init) => {
        equal(url, URL_);
        this.fetches.push(init);
        return this.answer();
      },
      now: () => this.nowMs,
      waitUntil: (fetching) => void this.waited.push(fetching),
      log,
      ...options,
    });
  }

  async has(key: SigningKey): Promise<boolean> {
    return (await this.keys.find(key.kid)) !== undefined;
  }
}

async function createKeys(): Promise<readonly [SigningKey, SigningKey]> {
  return [await createSigningKey(await createPrivateJwk()), await createSigningKey(await createPrivateJwk("EdDSA"))];
}

function serve(...keys: readonly SigningKey[]): Answer {
  return () => Response.json(toJwks(keys));
}

const refuse = (): Promise<Response> => Promise.reject(new Error("refused"));

class Later {
  resolve: (response: Response) => void = refuse;
  readonly promise: Promise<Response> = new Promise((resolve) => {
    this.resolve = resolve;
  });
}

const down: Answer = refuse;

function creating(url: string, sameOriginAs?: string): string {
  return thrownBy(() => createRemoteKeySet({ url, sameOriginAs, fetch: refuse }));
}

const caching: readonly Case[] = [
  {
    id: "signing/fetched keys are used from the cache, and verify",
    source: SOURCE,
    async run() {
      const [key] = await createKeys();
      const rig = new Rig(serve(key));
      const pair = createPair({ key, keys: rig.keys }, await createSide("HS256"));
      for (let call = 0; call < 3; call += 1) {
        const { token } = await pair.requestSigner.sign({ method: "m", body: BODY });
        equal(await reasonOf(received(pair.requestVerifier, token)), "accepted");
      }
      equal([rig.fetches.length, rig.fetches[0]?.redirect], [1, "manual"]);
    },
  },
  {
    id: "signing/past half their age keys are fetched in the background, past it before use",
    source: "http.md 2: cached with background refresh",
    async run() {
      const [first, second] = await createKeys();
      const rig = new Rig(serve(first));
      equal(await rig.has(first), true);
      rig.answer = serve(second);
      rig.nowMs += 2.5 * MINUTE - 1;
      equal([await rig.has(first), rig.fetches.length], [true, 1]);
      rig.nowMs += 1;
      equal([await rig.has(first), rig.waited.length], [true, 1]);
      await rig.waited[0];
      equal([await rig.has(first), await rig.has(second), rig.fetches.length], [false, true, 2]);
      rig.answer = serve();
      rig.nowMs += 5 * MINUTE;
      equal([await rig.has(second), rig.fetches.length, rig.waited.length], [false, 3, 1]);
    },
  },
  {
    id: "signing/an unknown kid fetches once in thirty seconds",
    source: "http.md 2: unknown: one throttled refresh",
    async run() {
      const [first, second] = await createKeys();
      const rig = new Rig(serve(first));
      equal(await rig.has(first), true);
      rig.answer = serve(first, second);
      rig.nowMs += 29_999;
      for (let index = 0; index < 20; index += 1) equal(await rig.keys.find(`guess-${index}`), undefined);
      equal([await rig.has(second), rig.fetches.length], [false, 1]);
      rig.nowMs += 1;
      equal([await rig.has(second), rig.fetches.length], [true, 2]);
      for (let index = 0; index < 20; index += 1) equal(await rig.keys.find(`guess-${index}`), undefined);
      equal(rig.fetches.length, 2);
    },
  },
  {
    id: "signing/a token with a foreign alg fetches nothing",
    source: "http.md 2: alg, then kid",
    async run() {
      const [key] = await createKeys();
      const rig = new Rig(serve(key));
      const { requestSigner } = createPair(await createSide("HS256"), await createSide("HS256"));
      const { requestVerifier } = createPair({ key, keys: rig.keys }, await createSide("HS256"));
      const { token } = await requestSigner.sign({ method: "m", body: BODY });
      equal(await reasonOf(received(requestVerifier, token)), "alg_not_allowed");
      equal(rig.fetches.length, 0);
    },
  },
];

const outages: readonly Case[] = [
  {
    id: "signing/while the URL does not answer keys are used for a day, and no longer",
    source: "http.md 2: stale use up to 24 h while unreachable",
    async run() {
      const [key] = await createKeys();
      const rig = new Rig(serve(key));
      equal(await rig.has(key), true);
      rig.answer = down;
      rig.nowMs += 24 * HOUR - 1;
      equal(await rig.has(key), true);
      rig.nowMs += 1;
      equal(await reasonOf(rig.has(key)), "keys_unavailable");
      rig.nowMs += MINUTE;
      rig.answer = serve(key);
      equal(await rig.has(key), true);
      ok(rig.warnings.length > 0 && rig.warnings.every((message) => message.startsWith("cannot fetch")), "the log");
    },
  },
  {
    id: "signing/a URL that does not answer is asked less and less often",
    source: SOURCE,
    async run() {
      const [key] = await createKeys();
      const rig = new Rig(down);
      const asked: number[] = [];
      for (let second = 0; second <= 130; second += 1) {
        const before = rig.fetches.length;
        equal(await reasonOf(rig.has(key)), "keys_unavailable");
        if (rig.fetches.length > before) asked.push(second);
        rig.nowMs += 1000;
      }
      equal(asked, [0, 1, 3, 7, 15, 31, 61, 91, 121]);
    },
  },
  {
    id: "signing/while one message asks for old keys the others go on with them",
    source: "transport-facts.md 1.9: cache resolved values",
    async run() {
      const [key] = await createKeys();
      const rig = new Rig(serve(key));
      equal(await rig.has(key), true);
      rig.nowMs += 6 * MINUTE;
      const later = new Later();
      rig.answer = () => later.promise;
      const asking = rig.has(key);
      equal([await rig.has(key), await rig.has(key), rig.fetches.length], [true, true, 2]);
      later.resolve(Response.json(toJwks([])));
      equal(await asking, false);
    },
  },
  {
    id: "signing/no fetch is shared unless the host says so",
    source: "transport-facts.md 1.9: never share an in-flight promise across requests",
    async run() {
      const [key] = await createKeys();
      for (const shareFetch of [false, true]) {
        const rig = new Rig(serve(key), { shareFetch });
        equal(await Promise.all(Array.from({ length: 5 }, () => rig.has(key))), [true, true, true, true, true]);
        equal(rig.fetches.length, shareFetch ? 1 : 5);
      }
    },
  },
  {
    id: "signing/a slow answer does not replace a later one",
    source: SOURCE,
    async run() {
      const [first, second] = await createKeys();
      const later = new Later();
      const rig = new Rig(() => later.promise);
      const slow = rig.keys.refresh();
      rig.nowMs += 1000;
      rig.answer = serve(second);
      await rig.keys.refresh();
      later.resolve(Response.json(toJwks([first])));
      await slow;
      equal([await rig.has(first), await rig.has(second)], [false, true]);
    },
  },
];

const bodies: readonly (readonly [string, Answer])[] = [
  ["a redirect", () => new Response(null, { status: 302, headers: { location: "https://evil.example/" } })],
  ["an error page", () => new Response("{}", { status: 500 })],
  ["a page", () => new Response("<html>")],
  ["another document", () => Response.json({})],
  ["too long a document", () => new Response(`{"keys":[]}${" ".repeat(65_536)}`)],
  ["no answer", down],
];

const safety: readonly Case[] = [
  {
    id: "signing/what is no JWK Set of a sane size gives no keys",
    source: "http.md 2: size cap",
    async run() {
      for (const [name, answer] of bodies) {
        const rig = new Rig(answer);
        equal([name, await reasonOf(Promise.resolve(rig.keys.find("x")))], [name, "keys_unavailable"]);
        await rejects(rig.keys.refresh(), "ERR_CONFIG");
      }
      const [key] = await createKeys();
      const padded = JSON.stringify(toJwks([key])).padEnd(65_536);
      equal(await new Rig(() => new Response(padded)).has(key), true);
    },
  },
  {
    id: "signing/one bad key does not take the good ones with it",
    source: SOURCE,
    async run() {
      const [key] = await createKeys();
      const bad = { kty: "EC", crv: "P-256", x: "A".repeat(43), y: "A".repeat(43) };
      const rig = new Rig(() => Response.json({ keys: [bad, ...toJwks([key]).keys] }));
      equal([await rig.has(key), rig.warnings.length], [true, 1]);
    },
  },
  {
    id: "signing/a fetch that ignores its signal is ended by the timer",
    source: "design.md: A deadline is settled by its timer",
    async run() {
      let aborted = false;
      const rig = new Rig(down, {
        timeoutMs: 1,
        fetch: (_url, init) => {
          init.signal?.addEventListener("abort", () => (aborted = true));
          return new Promise(() => {});
        },
      });
      await rejects(rig.keys.refresh(), "ERR_CONFIG");
      equal(aborted, true);
    },
  },
  {
    id: "signing/the URL is https and of the endpoint's origin",
    source: "http.md 2: URL, same origin, https",
    async run() {
      const good = [URL_, "http://127.0.0.1:8080/jwks", "http://localhost/jwks", "http://[::1]/jwks"];
      for (const url of good) equal([url, creating(url)], [url, "nothing"]);
      const bad = [
        "http://hooks.example.com/jwks",
        "ftp://x/",
        "data:,{}",
        "/jwks",
        "https://user:pass@hooks.example.com/",
        "http://127.0.0.1.evil.example/",
      ];
      for (const url of bad) equal([url, creating(url)], [url, "TypeError"]);
      equal(creating(URL_, "https://hooks.example.com/v1/hook"), "nothing");
      equal(creating(URL_, "https://hooks.example.com:8443/v1/hook"), "TypeError");
      equal(creating(URL_, "https://evil.example/"), "TypeError");
      for (const option of ["maxAgeMs", "maxStaleMs", "cooldownMs", "timeoutMs", "maxBodyBytes"]) {
        equal(
          thrownBy(() => createRemoteKeySet({ url: URL_, fetch: refuse, [option]: 0 })),
          "RangeError",
        );
      }
    },
  },
];

/** Keys that a peer publishes. */
export const signingRemoteCases: readonly Case[] = [...caching, ...outages, ...safety];
