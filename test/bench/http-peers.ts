import { createHash, randomUUID } from "node:crypto";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import jayson from "jayson";
import { base64url, jwtVerify, SignJWT } from "jose";
import { createMessage, type HttpContestant, METHOD, PARAMS } from "./http-contestants.ts";

async function toHash(data: Uint8Array<ArrayBuffer>): Promise<string> {
  return base64url.encode(new Uint8Array(await crypto.subtle.digest("SHA-256", data)));
}

/** What is at hand without us: global fetch, and jose for the signatures, as docs/protocol.md asks for them. */
export function createFetchWithJose(url: string, secret: string): HttpContestant {
  const encoder = new TextEncoder();
  const key = encoder.encode(secret);
  const kid = `hs-${createHash("sha256").update(key).digest("hex").slice(0, 8)}`;
  return {
    name: "global fetch with jose, HS256",
    async call() {
      const body = encoder.encode(createMessage());
      const jti = randomUUID();
      const token = await new SignJWT({ jti, htm: "POST", bh: await toHash(body), mtd: METHOD })
        .setProtectedHeader({ alg: "HS256", typ: "hook-request+jwt", kid })
        .setIssuer("gateway")
        .setAudience("http://bench/")
        .setIssuedAt()
        .setExpirationTime("60s")
        .sign(key);
      const headers = { "content-type": "application/json", "hook-signature": token };
      const response = await fetch(url, { method: "POST", headers, body, signal: AbortSignal.timeout(5000) });
      const reply = new Uint8Array(await response.arrayBuffer());
      const { payload } = await jwtVerify(response.headers.get("hook-signature") ?? "", key, {
        algorithms: ["HS256"],
        typ: "hook-reply+jwt",
        issuer: "endpoint",
        audience: "gateway",
      });
      const isBound = payload["rid"] === jti && payload["rqh"] === (await toHash(encoder.encode(token)));
      if (!isBound || payload["sts"] !== response.status || payload["bh"] !== (await toHash(reply))) {
        throw new Error("not the reply to this request");
      }
      return JSON.parse(new TextDecoder().decode(reply)) as unknown;
    },
    close: async () => {},
  };
}

/** JSON-RPC over HTTP by a library that does nothing else. */
export function createJayson(url: string): HttpContestant {
  const { hostname, port } = new URL(url);
  const client = jayson.Client.http({ hostname, port: Number(port) });
  return {
    name: "jayson over HTTP, unsigned",
    call: () =>
      new Promise((resolve, reject) => {
        client.request(METHOD, PARAMS, (error: unknown, reply: unknown) => {
          if (error) reject(new Error("jayson failed", { cause: error }));
          else resolve(reply);
        });
      }),
    close: async () => {},
  };
}

/** The MCP SDK's client over streamable HTTP, calling a tool that answers the same. */
export async function createMcpHttp(url: string): Promise<HttpContestant> {
  const client = new Client({ name: "bench", version: "1.0.0" });
  const transport = new StreamableHTTPClientTransport(new URL(url));
  await client.connect(transport);
  return {
    name: "MCP SDK, streamable HTTP, unsigned",
    call: () => client.callTool({ name: "before_tool", arguments: PARAMS }),
    close: () => client.close(),
  };
}
