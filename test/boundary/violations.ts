/** One module that a wall must refuse, and by what. */
export interface Violation {
  /** The wall that refuses it. */
  readonly by: "tsc" | "oxlint";
  /** The compiler's code or the linter's rule that does so: refused for another reason is not refused. */
  readonly rule: string;
  readonly source: string;
  /** Where it is planted: a folder of the checkout, `src/chain` unless told. */
  readonly folder?: string;
  /** The file's name where that is the violation. */
  readonly file?: string;
}

const NO_MODULE = "TS2591";
const NO_NAME = "TS2304";
const DIRECTION = "eslint(no-restricted-imports)";
const GLOBALS = "eslint(no-restricted-globals)";
const TS_COMMENT = "typescript(ban-ts-comment)";

/** Ways in which a module of the core could reach for a runtime. */
const runtime: readonly Violation[] = [
  {
    by: "tsc",
    rule: NO_MODULE,
    source: `import { readFileSync } from "node:fs"; export const x: unknown = readFileSync;`,
  },
  { by: "tsc", rule: NO_MODULE, source: `import type { Readable } from "node:stream"; export type R = Readable;` },
  { by: "tsc", rule: NO_MODULE, source: `import * as fs from "fs"; export const x: unknown = fs;` },
  { by: "tsc", rule: "TS2882", source: `import "node:fs"; export const x: number = 1;` },
  { by: "tsc", rule: NO_MODULE, source: `export const x: Promise<unknown> = import("node:fs");` },
  {
    by: "oxlint",
    rule: "import(no-nodejs-modules)",
    source: `import * as fs from "fs"; export const x: unknown = fs;`,
  },
  { by: "oxlint", rule: DIRECTION, source: `import "node:fs"; export const x: number = 1;` },
  { by: "tsc", rule: NO_MODULE, source: `export const x: unknown = process.version;` },
  { by: "tsc", rule: NO_MODULE, source: `export const x: unknown = Buffer.from("a");` },
  { by: "tsc", rule: NO_NAME, source: `export const x: unknown = setImmediate;` },
  { by: "tsc", rule: NO_MODULE, source: `export const x: unknown = require("fs");` },
  { by: "tsc", rule: "TS7017", source: `export const x: unknown = globalThis.process;` },
  { by: "tsc", rule: NO_NAME, source: `export const x: unknown = Deno.env;` },
  { by: "tsc", rule: "TS2868", source: `export const x: unknown = Bun.version;` },
  { by: "tsc", rule: "TS2307", source: `import { env } from "cloudflare:workers"; export const x: unknown = env;` },
  { by: "tsc", rule: NO_NAME, source: `export const x: unknown = window;` },
  { by: "tsc", rule: "TS2584", source: `export const x: unknown = document;` },
  { by: "tsc", rule: NO_NAME, source: `export const x: unknown = localStorage;` },
  { by: "oxlint", rule: GLOBALS, source: `export const x: unknown = importScripts;` },
  { by: "oxlint", rule: GLOBALS, source: `export const x: unknown = indexedDB;` },
  { by: "oxlint", rule: GLOBALS, source: `export const x: unknown = navigator.userAgent;` },
  { by: "oxlint", rule: GLOBALS, source: `export const x: unknown = self;` },
  { by: "oxlint", rule: GLOBALS, source: `export const x: unknown = Reflect.get(globalThis, "process");` },
  {
    by: "oxlint",
    rule: GLOBALS,
    source: `export const x: unknown = (globalThis as unknown as { process: unknown }).process;`,
  },
  {
    by: "oxlint",
    rule: "typescript(no-explicit-any)",
    source: `export const x: unknown = (globalThis as any).process;`,
  },
  {
    by: "oxlint",
    rule: "import(no-dynamic-require)",
    source: `const m: string = "node:fs"; export const x: Promise<unknown> = import(m);`,
  },
  { by: "oxlint", rule: "eslint(no-new-func)", source: `export const x: unknown = new Function("return process")();` },
  { by: "oxlint", rule: "eslint(no-console)", source: `console.log("x"); export const x: number = 1;` },
  {
    by: "oxlint",
    rule: TS_COMMENT,
    source: `// @ts-expect-error because I say so\nimport * as fs from "node:fs"; export const x: unknown = fs;`,
  },
  { by: "oxlint", rule: TS_COMMENT, source: `// @ts-nocheck for now\nexport const x: number = "1";` },
  {
    by: "oxlint",
    rule: "typescript(triple-slash-reference)",
    source: `/// <reference types="node" />\nimport { readFileSync } from "node:fs"; export const x: unknown = readFileSync;`,
  },
  {
    by: "oxlint",
    rule: DIRECTION,
    source: `import { serve } from "@hono/node-server"; export const x: unknown = serve;`,
  },
  {
    by: "oxlint",
    rule: DIRECTION,
    source: `import { Agent } from "undici"; export const x: unknown = Agent;`,
  },
  {
    by: "oxlint",
    rule: DIRECTION,
    source: `import { serveStatic } from "hono/bun"; export const x: unknown = serveStatic;`,
    folder: "src/gateway",
  },
  {
    by: "tsc",
    rule: "TS6307",
    source: `import { planted } from "../../adapters/node/planted.ts"; export const x: number = planted;`,
  },
  {
    by: "oxlint",
    rule: DIRECTION,
    source: `import { planted } from "../../adapters/node/planted.ts"; export const x: number = planted;`,
  },
];

/** Ways in which a module could slip past the type system or the house style. */
const style: readonly Violation[] = [
  { by: "tsc", rule: "TS9010", source: `export const x = new Date().getTime();` },
  { by: "tsc", rule: "TS1294", source: `export enum X { A }` },
  { by: "tsc", rule: "TS2375", source: `export const x: { a?: number } = { a: undefined };` },
  { by: "tsc", rule: "TS2322", source: `export function x(list: readonly string[]): string { return list[0]; }` },
  {
    by: "oxlint",
    rule: "typescript(no-unsafe-type-assertion)",
    source: `export function x(v: unknown): string { return v as string; }`,
  },
  {
    by: "oxlint",
    rule: "typescript(no-unsafe-assignment)",
    source: `export function x(s: string): string { const v: string = JSON.parse(s); return v; }`,
  },
  {
    by: "oxlint",
    rule: "typescript(no-unsafe-return)",
    source: `export function x(s: string): string { return JSON.parse(s); }`,
  },
  {
    by: "oxlint",
    rule: "typescript(no-non-null-assertion)",
    source: `export function x(v: string | undefined): string { return v!; }`,
  },
  {
    by: "oxlint",
    rule: "typescript(no-floating-promises)",
    source: `export function x(p: Promise<void>): void { p; }`,
  },
  { by: "oxlint", rule: "typescript(only-throw-error)", source: `export function x(): void { throw "x"; }` },
  {
    by: "oxlint",
    rule: "typescript(switch-exhaustiveness-check)",
    source: `export function x(v: "a" | "b"): void { switch (v) { case "a": break; } }`,
  },
  {
    by: "oxlint",
    rule: "typescript(consistent-type-imports)",
    source: `import { Log } from "../log.ts"; export type X = Log;`,
  },
  { by: "oxlint", rule: "typescript(consistent-type-imports)", source: `export type X = import("../log.ts").Log;` },
  { by: "oxlint", rule: "import(no-default-export)", source: `export default 1;` },
  {
    by: "oxlint",
    rule: "eslint(max-params)",
    source: `export function x(a: number, b: number, c: number, d: number): number { return a + b + c + d; }`,
  },
  {
    by: "oxlint",
    rule: "eslint(max-lines)",
    source: Array.from({ length: 301 }, (_, i) => `export const x${i}: number = ${i};`).join("\n"),
  },
  {
    by: "oxlint",
    rule: "eslint(max-lines-per-function)",
    source: `export function x(): number {\n  let n = 0;\n${"  n += 1;\n".repeat(50)}  return n;\n}`,
  },
  { by: "oxlint", rule: "unicorn(filename-case)", source: `export const x: number = 1;`, file: "plantedCamel.ts" },
];

/** A folder, and another that it must not import. */
const forbidden: readonly (readonly [folder: string, imported: string])[] = [
  ["chain", "../picoclaw/index.ts"],
  ["chain", "../signing/index.ts"],
  ["chain", "zod"],
  ["signing", "../chain/index.ts"],
  ["signing", "../picoclaw/index.ts"],
  ["signing", "zod"],
  ["picoclaw", "../jcli/index.ts"],
  ["picoclaw", "../transport/index.ts"],
  ["picoclaw", "../signing/index.ts"],
  ["picoclaw", "hono"],
  ["picoclaw", "yaml"],
  ["jcli", "../picoclaw/index.ts"],
  ["jcli", "../transport/index.ts"],
  ["jcli", "jose"],
  ["transport", "../chain/index.ts"],
  ["transport", "../picoclaw/index.ts"],
  ["transport", "../gateway/index.ts"],
  ["transport", "zod"],
  ["transport", "../../adapters/node/planted.ts"],
  ["endpoint", "../transport/index.ts"],
  ["endpoint", "../jcli/index.ts"],
  ["endpoint", "../picoclaw/manager.ts"],
  ["endpoint", "hono"],
  ["client", "../gateway/index.ts"],
  ["client", "../picoclaw/index.ts"],
  ["client", "../approvals/index.ts"],
  ["client", "jose"],
  ["approvals", "../gateway/index.ts"],
  ["bridge", "../gateway/index.ts"],
  ["config", "../gateway/index.ts"],
  ["config", "../chain/index.ts"],
  ["config", "../client/index.ts"],
  ["config", "hono"],
  ["gateway", "../cli/index.ts"],
  ["gateway", "../client/index.ts"],
  ["gateway", "../transport/index.ts"],
  ["gateway", "jose"],
  ["cli", "../../adapters/node/planted.ts"],
  ["cli", "citty"],
  ["brand-new", "../log.ts"],
];

/** Ways of writing an import that must not get past the dependency direction. */
const spellings: readonly string[] = [
  `export { y } from "../gateway/index.ts";`,
  `export * from "../gateway/index.ts";`,
  `import type { Y } from "../gateway/index.ts"; export type X = Y;`,
  `export const x: Promise<unknown> = import("../gateway/index.ts");`,
  `import { y } from "./../gateway/index.ts"; export const x: unknown = y;`,
  `import { y } from "./deep/../../gateway/index.ts"; export const x: unknown = y;`,
  `import { y } from "../chain/../gateway/index.ts"; export const x: unknown = y;`,
  `import { y } from "../index.ts"; export const x: unknown = y;`,
];

/** Types that may not be imported either where those of picoclaw and jcli may. */
const forbiddenTypes: readonly (readonly [folder: string, imported: string])[] = [
  ["transport", "../gateway/index.ts"],
  ["picoclaw", "../signing/index.ts"],
  ["transport", "../chain/index.ts"],
  ["endpoint", "../client/index.ts"],
  ["client", "../config/index.ts"],
  ["client", "hono"],
  ["transport", "zod"],
];

const direction: readonly Violation[] = [
  ...forbidden.map(([folder, imported]): Violation => {
    return {
      by: "oxlint",
      rule: DIRECTION,
      folder: `src/${folder}`,
      source: `import { y } from "${imported}"; export const x: unknown = y;`,
    };
  }),
  ...forbiddenTypes.map(([folder, imported]): Violation => {
    const source = `import type { Y } from "${imported}"; export type X = Y;`;
    return { by: "oxlint", rule: DIRECTION, folder: `src/${folder}`, source };
  }),
  ...spellings.map((source): Violation => ({ by: "oxlint", rule: DIRECTION, source })),
  {
    by: "oxlint",
    rule: DIRECTION,
    folder: "src",
    source: `import { y } from "./chain/index.ts"; export const x: unknown = y;`,
  },
  {
    by: "oxlint",
    rule: DIRECTION,
    folder: "adapters/deno",
    source: `import { planted } from "../node/planted.ts"; export const x: number = planted;`,
  },
  {
    by: "oxlint",
    rule: DIRECTION,
    folder: "adapters/node",
    source: `import { cases } from "../../test/conformance/index.ts"; export const x: unknown = cases;`,
  },
  {
    by: "oxlint",
    rule: DIRECTION,
    folder: "test/conformance",
    source: `import { readFileSync } from "node:fs"; export const x: unknown = readFileSync;`,
  },
  {
    by: "oxlint",
    rule: DIRECTION,
    folder: "test/conformance",
    source: `import { planted } from "../../adapters/node/planted.ts"; export const x: number = planted;`,
  },
];

/** Every violation, each refused by its wall. */
export const violations: readonly Violation[] = [...runtime, ...style, ...direction];

/** Modules no wall may refuse. */
export const controls: readonly Pick<Violation, "folder" | "file" | "source">[] = [
  {
    folder: "src/chain",
    source: `import { HookgateError } from "../errors.ts"; export const x: unknown = HookgateError;`,
  },
  { folder: "src/chain", source: `import { type Log, silentLog } from "../log.ts"; export const x: Log = silentLog;` },
  { folder: "src/signing", source: `import { decodeJwt } from "jose"; export const x: unknown = decodeJwt;` },
  { folder: "src/picoclaw", source: `import { string } from "zod"; export const x: unknown = string;` },
  { folder: "src/gateway", source: `import { Hono } from "hono"; export const x: unknown = Hono;` },
  { folder: "src/config", source: `import { parse } from "yaml"; export const x: unknown = parse;` },
  { folder: "src/transport", source: `export const x: () => Promise<Response> = () => fetch("http://127.0.0.1");` },
  { folder: "src/cli", source: `export const x: Uint8Array = new TextEncoder().encode(crypto.randomUUID());` },
  {
    folder: "src/transport",
    source: `import type { Planted } from "../picoclaw/planted.ts"; export type X = Planted;`,
  },
  { folder: "src/client", source: `import { planted } from "../jcli/codec.ts"; export const x: number = planted;` },
  {
    folder: "src/client",
    source: `import { planted } from "../approvals/approval.ts"; export const x: number = planted;`,
  },
  { folder: "src/client", source: `import { string } from "zod"; export const x: unknown = string;` },
  { folder: "src/picoclaw", file: "planted.ts", source: `export type Planted = number;` },
  { folder: "src/approvals", file: "approval.ts", source: `export const planted: number = 1;` },
  { folder: "src/jcli", file: "codec.ts", source: `export const planted: number = 1;` },
];
