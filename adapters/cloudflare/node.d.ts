/** What is used of Node's modules; the whole of its types would bring the rest of Node along. */
declare module "node:async_hooks" {
  export class AsyncLocalStorage<T> {
    run<R>(store: T, callback: () => R): R;
    getStore(): T | undefined;
  }
}

declare module "node:crypto" {
  /** The one hash on Workers that answers at once. */
  export function hash(algorithm: "sha256", text: string, encoding: "hex"): string;
}
