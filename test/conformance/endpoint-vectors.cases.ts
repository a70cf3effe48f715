import { createHookEndpoint } from "../../src/endpoint/hook-endpoint.ts";
import type { RequestVector } from "../vectors/vector.ts";
import { vectors } from "../vectors/verify.ts";
import { type Case, equal, ok } from "./case.ts";
import { hook, type Message, toBytes } from "./endpoint-setting.ts";

/** Sends a vector to an endpoint: "ok", or the code of the refusal. */
async function endVector(vector: RequestVector): Promise<string> {
  const trusted = vector.trusted.map((name) => vectors.keys[name]);
  const secret = trusted.flatMap((one) => one.secret ?? []);
  const gateway = { keys: trusted.map(({ jwk }) => ({ ...jwk, d: undefined })) };
  const own = vectors.keys.es256_endpoint.jwk ?? {};
  const { parties, now_ms: nowMs } = vectors;
  const endpoint = createHookEndpoint(hook, {
    name: parties.endpoint,
    url: parties.endpoint_url,
    gateway: parties.gateway,
    ...(secret.length > 0 ? { secret } : { keys: { gateway, own } }),
    maxBodyBytes: vector.max_body_bytes,
    now: () => nowMs,
  });
  const send = (): Promise<Response> => {
    const headers = new Headers();
    if (vector.content_type !== null) headers.set("content-type", vector.content_type);
    if (vector.header !== null) headers.set("hook-signature", vector.header);
    const hasBody = vector.method !== "GET" && vector.method !== "HEAD";
    const init = { method: vector.method, headers, ...(hasBody && { body: toBytes(vector.body) }) };
    return endpoint.fetch(new Request(parties.endpoint_url, init));
  };
  for (let arrival = 1; arrival < (vector.arrivals ?? 1); arrival += 1) await send();
  const response = await send();
  if (response.status === 202) return "ok";
  const { error } = (await response.json()) as Message;
  return error?.data?.reason ?? "ok";
}

/** The vectors, through the front door of an endpoint. */
export const endpointVectorCases: readonly Case[] = [
  {
    id: "endpoint/every request vector ends as it says",
    source: "http.md 2: each failure with its own code",
    async run() {
      const requests = [...vectors.accepted, ...vectors.refused].filter((vector) => vector.kind === "request");
      ok(requests.length >= 40, "the vectors are gone");
      for (const vector of requests) {
        // A web-standard request cannot say it: it makes "POST" of it.
        if (vector.name === "post in lower case") continue;
        equal([vector.name, await endVector(vector)], [vector.name, vector.code ?? "ok"]);
      }
    },
  },
];
