import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** What somebody has posted. */
export interface Post {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** What is answered; by default 200. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A server of this machine that is posted to. */
export interface Receiver {
  readonly origin: string;
  /** Everything that was posted, in order. */
  readonly posts: readonly Post[];
  /** What the next posts to a path are answered. */
  answer(path: string, answers: readonly Answer[]): void;
  /** Resolves with the first so many posts of which this holds. */
  seen(count: number, matches: (post: Post) => boolean): Promise<readonly Post[]>;
  close(): void;
}

/** Starts a server that keeps what it is posted. */
export async function startReceiver(): Promise<Receiver> {
  const posts: Post[] = [];
  const answers = new Map<string, Answer[]>();
  const waiting = new Set<() => void>();
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const url = request.url ?? "";
      posts.push({ url, headers: request.headers, body });
      const { status, headers } = answers.get(url)?.shift() ?? { status: 200 };
      response.writeHead(status, headers).end();
      for (const check of waiting) check();
    });
  });
  server.listen(0, "localhost");
  await once(server, "listening");
  return {
    origin: `http://localhost:${(server.address() as AddressInfo).port}`,
    posts,
    answer: (path, next) => void answers.set(path, [...next]),
    seen: (count, matches) =>
      new Promise((resolve) => {
        const check = (): void => {
          const found = posts.filter(matches);
          if (found.length < count) return;
          waiting.delete(check);
          resolve(found);
        };
        waiting.add(check);
        check();
      }),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
