import { expect, test } from "vitest";
import { ConnectionLimit, limitPerRequest } from "../../src/transport/connection-limit.ts";

class SlowFetch {
  readonly sent: string[] = [];
  readonly #answers = new Map<string, (response: Response) => void>();

  readonly fetch = (url: string): Promise<Response> => {
    this.sent.push(url);
    return new Promise((resolve) => this.#answers.set(url, resolve));
  };

  async answer(url: string): Promise<void> {
    this.#answers.get(url)?.(new Response());
    await settle();
  }
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("the seventh request waits until one has its headers, and the order is kept", async () => {
  const slow = new SlowFetch();
  const send = new ConnectionLimit(6).limit(slow.fetch);
  const all = Array.from("abcdefgh", (url) => send(url, {}));
  await settle();
  expect(slow.sent.join("")).toBe("abcdef");
  await slow.answer("c");
  expect(slow.sent.join("")).toBe("abcdefg");
  for (const url of "abdefgh") await slow.answer(url);
  expect(await Promise.all(all)).toHaveLength(8);
});

test("who gives up while waiting takes no place, and who fails gives its own back", async () => {
  const slow = new SlowFetch();
  const limit = new ConnectionLimit(1);
  const send = limit.limit(slow.fetch);
  const first = send("a", {});
  const controller = new AbortController();
  const second = send("b", { signal: controller.signal });
  const third = limit
    .limit(() => Promise.reject(new Error("refused")))("c", {})
    .catch((error: unknown) => error);
  const fourth = send("d", {});
  controller.abort(new Error("the deadline has passed"));
  await expect(second).rejects.toThrow("the deadline has passed");
  await expect(send("e", { signal: controller.signal })).rejects.toThrow("the deadline has passed");
  await slow.answer("a");
  await first;
  expect(await third).toEqual(new Error("refused"));
  await slow.answer("d");
  await fourth;
  expect(slow.sent.join("")).toBe("ad");
  expect(await Promise.race([send("f", {}), settle()])).toBeUndefined();
  expect(slow.sent.join("")).toBe("adf");
});

test("no request waits for a place that another holds", async () => {
  let request: object | undefined = {};
  const slow = new SlowFetch();
  const send = limitPerRequest({ maxConnections: 1, currentRequest: () => request })(slow.fetch);
  const all = [send("a", {}), send("b", {})];
  request = {};
  all.push(send("c", {}), send("d", {}));
  request = undefined;
  all.push(send("e", {}));
  await settle();
  expect(slow.sent.join("")).toBe("ace");
  for (const url of "acebd") await slow.answer(url);
  expect(await Promise.all(all)).toHaveLength(5);
});
