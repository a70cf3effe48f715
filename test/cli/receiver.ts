import { once } from "node:events";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import type { Approval } from "../../src/approvals/index.ts";

/** What a webhook was told. */
export interface Told {
  readonly type: string;
  readonly approval: Approval;
  readonly link: string | undefined;
}

/** A server that webhooks are sent to. */
export interface Receiver {
  readonly name: string;
  readonly url: string;
  readonly told: readonly Told[];
  /** Resolves when it has been told so often. */
  seen(count: number): Promise<void>;
  close(): Promise<void>;
}

interface Sent {
  readonly type: string;
  readonly data: { readonly approval: Approval; readonly link?: string };
}

/**
 * Opens a {@link Receiver} that answers with these statuses, one after the other, and with the last from then on. One that
 * is not 2xx asks to be told again after two seconds, so that a test can do something before.
 */
export async function openReceiver(name: string, statuses: readonly number[]): Promise<Receiver> {
  const told: Told[] = [];
  const waiting = new Set<() => void>();
  const server = createServer((incoming, response) => {
    void json(incoming).then((body) => {
      const status = statuses[Math.min(told.length, statuses.length - 1)] ?? 204;
      const { type, data } = body as Sent;
      told.push({ type, approval: data.approval, link: data.link });
      response.writeHead(status, status >= 300 ? { "retry-after": "2" } : {}).end();
      for (const check of waiting) check();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    name,
    url: `http://127.0.0.1:${port}/hook`,
    told,
    seen: (count) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (told.length >= count) resolve();
        };
        waiting.add(check);
        check();
      }),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
