import {
  HOOK_SOURCE,
  type Starter,
  type StarterOptions,
  TEST_BODY,
  TEST_ENV,
  toJsonFile,
  toReadme,
} from "./starter.ts";

interface ManifestOptions extends Pick<StarterOptions, "name" | "version"> {
  readonly scripts: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

function toManifest({ name, version, scripts, devDependencies }: ManifestOptions): string {
  return toJsonFile({
    name,
    private: true,
    type: "module",
    scripts,
    dependencies: { hookgate: `^${version}` },
    ...(devDependencies === undefined ? {} : { devDependencies }),
  });
}

const NODE_TEST_HEAD = `import assert from "node:assert/strict";
import { test } from "node:test";
import { hook } from "./hook.ts";
`;

function toEndpoint(name: string, from: { readonly create: string; readonly env: string }): string {
  return `${from.create}(hook, {
  name: ${JSON.stringify(name)},
  url: ${from.env}.HOOK_URL,
  gateway: ${from.env}.HOOK_GATEWAY,
  // Two while rotating: the new one first.
  secret: [${from.env}.HOOK_SECRET, ${from.env}.HOOK_SECRET_OLD],
  log: console,
})`;
}

/** What answers a test: a web-standard fetch handler. */
function toFetchAnswer(fetch: string): string {
  return `
async function answer(headers: Record<string, string>): Promise<{ status: number; text: string }> {
  const response = await ${fetch};
  return { status: response.status, text: await response.text() };
}

`;
}

const REQUEST = `new Request("https://hooks.example.com/hook", { method: "POST", headers, body: call })`;

/** A starter for Node. */
export function createNodeStarter({ name, version }: StarterOptions): Starter {
  return {
    files: {
      "package.json": toManifest({
        name,
        version,
        scripts: { start: "node --env-file-if-exists=.env server.ts", test: "node --test" },
      }),
      "hook.ts": HOOK_SOURCE,
      "endpoint.ts": `import { createNodeHookEndpoint } from "hookgate/node";
import { hook } from "./hook.ts";

export const endpoint = ${toEndpoint(name, { create: "createNodeHookEndpoint", env: "process.env" })};
`,
      "server.ts": `import { serveEndpoint } from "hookgate/node";
import { endpoint } from "./endpoint.ts";

const listener = await serveEndpoint(endpoint, { port: Number(process.env.PORT ?? "8788") });
process.once("SIGTERM", () => void listener.close());
console.log(\`listening on \${listener.url}\`);
`,
      "hook.test.ts": `${NODE_TEST_HEAD}
Object.assign(process.env, ${TEST_ENV});
const { endpoint } = await import("./endpoint.ts");
${toFetchAnswer(`endpoint.fetch(${REQUEST})`)}${TEST_BODY}`,
      "README.md": toReadme({
        name,
        start: "`npm test` tests it, `npm start` serves it on 127.0.0.1:8788: put TLS in front.",
      }),
    },
    next: ["npm install", "npm test", "npm start"],
  };
}

/** A starter for Cloudflare Workers. */
export function createWorkersStarter({ name, version }: StarterOptions): Starter {
  return {
    files: {
      "package.json": toManifest({
        name,
        version,
        scripts: { start: "wrangler dev", deploy: "wrangler deploy", test: "node --test" },
        devDependencies: { wrangler: "^4.0.0" },
      }),
      "wrangler.toml": `name = ${JSON.stringify(name)}
main = "worker.ts"
compatibility_date = "2026-01-01"

[vars]
HOOK_URL = "https://hooks.example.com/hook"
HOOK_GATEWAY = "hookgate"
`,
      ".dev.vars.example": "HOOK_SECRET=\n",
      ".gitignore": "node_modules/\n.wrangler/\n.dev.vars\n",
      "hook.ts": HOOK_SOURCE,
      "worker.ts": `import { createEndpointWorker } from "hookgate/cloudflare/endpoint";
import { createHookEndpoint } from "hookgate/endpoint";
import { hook } from "./hook.ts";

interface Env {
  readonly HOOK_SECRET: string;
  readonly HOOK_SECRET_OLD?: string;
  readonly HOOK_URL: string;
  readonly HOOK_GATEWAY: string;
}

// Each isolate remembers by itself which requests it has seen. Where a request must not count once more in another
// isolate for 90 s, pass \`replay\` with a store that all of them share.
export default createEndpointWorker<Env>((env) =>
  ${toEndpoint(name, { create: "createHookEndpoint", env: "env" }).replaceAll("\n", "\n  ")},
);
`,
      "hook.test.ts": `${NODE_TEST_HEAD}import worker from "./worker.ts";

const env = ${TEST_ENV};
const context = { waitUntil() {} };
${toFetchAnswer(`worker.fetch(${REQUEST}, env, context)`)}${TEST_BODY}`,
      "README.md": toReadme({
        name,
        start:
          "`npm test` tests it, `npm start` runs it here with the secret of `.dev.vars`. `npx wrangler secret put HOOK_SECRET` and\n`npm run deploy` put it online: set `HOOK_URL` in `wrangler.toml` to its URL.",
      }),
    },
    next: ["npm install", "npm test", "npx wrangler secret put HOOK_SECRET", "npm run deploy"],
  };
}

/** A starter for AWS Lambda. */
export function createLambdaStarter({ name, version }: StarterOptions): Starter {
  const bundle = "esbuild lambda.ts --bundle --platform=node --target=node22 --format=esm --outfile=dist/index.mjs";
  return {
    files: {
      "package.json": toManifest({
        name,
        version,
        scripts: { build: bundle, test: "node --test" },
        devDependencies: { esbuild: "^0.28.0" },
      }),
      "hook.ts": HOOK_SOURCE,
      "lambda.ts": `import { createHookEndpoint } from "hookgate/endpoint";
import { createLambdaHandler } from "hookgate/lambda";
import { hook } from "./hook.ts";

export const handler = createLambdaHandler(
  ${toEndpoint(name, { create: "createHookEndpoint", env: "process.env" }).replaceAll("\n", "\n  ")},
);
`,
      "hook.test.ts": `${NODE_TEST_HEAD}
Object.assign(process.env, ${TEST_ENV});
const { handler } = await import("./lambda.ts");

async function answer(headers: Record<string, string>): Promise<{ status: number; text: string }> {
  const http = { method: "POST" };
  const { statusCode, body } = await handler({ rawPath: "/", headers, requestContext: { http }, body: call });
  return { status: statusCode, text: body };
}

${TEST_BODY}`,
      "README.md": toReadme({
        name,
        start:
          "`npm test` tests it, `npm run build` makes `dist/index.mjs`: the handler is `index.handler`, on Node 22 or later. Put it\nbehind a function URL or an HTTP API, and let its timeout be longer than the gateway's.",
      }),
    },
    next: ["npm install", "npm test", "npm run build"],
  };
}

/** A starter for Deno. */
export function createDenoStarter({ name, version }: StarterOptions): Starter {
  return {
    files: {
      // Deno has no types of its own for node: modules, and takes none that the manifest does not name.
      "package.json": toManifest({ name, version, scripts: {}, devDependencies: { "@types/node": "^24.0.0" } }),
      "deno.json": toJsonFile({
        nodeModulesDir: "manual",
        tasks: {
          start: "deno run --env-file --allow-net --allow-env main.ts",
          test: "deno test --allow-env",
        },
      }),
      "hook.ts": HOOK_SOURCE,
      "main.ts": `import process from "node:process";
import { createHookEndpoint } from "hookgate/endpoint";
import { hook } from "./hook.ts";

export const endpoint = ${toEndpoint(name, { create: "createHookEndpoint", env: "process.env" })};

if (import.meta.main) Deno.serve({ hostname: "127.0.0.1", port: Number(process.env.PORT ?? "8788") }, endpoint.fetch);
`,
      "hook.test.ts": `import assert from "node:assert/strict";
import process from "node:process";
import { hook } from "./hook.ts";

const test = (name: string, run: () => void | Promise<void>): void => Deno.test(name, run);
Object.assign(process.env, ${TEST_ENV});
const { endpoint } = await import("./main.ts");
${toFetchAnswer(`endpoint.fetch(${REQUEST})`)}${TEST_BODY}`,
      "README.md": toReadme({
        name,
        start: "`deno task test` tests it, `deno task start` serves it on 127.0.0.1:8788: put TLS in front.",
      }),
    },
    next: ["deno install", "deno task test", "deno task start"],
  };
}

/** A starter for Bun. */
export function createBunStarter({ name, version }: StarterOptions): Starter {
  return {
    files: {
      "package.json": toManifest({ name, version, scripts: { start: "bun server.ts", test: "bun test" } }),
      "hook.ts": HOOK_SOURCE,
      "endpoint.ts": `import { createHookEndpoint } from "hookgate/endpoint";
import { hook } from "./hook.ts";

export const endpoint = ${toEndpoint(name, { create: "createHookEndpoint", env: "process.env" })};
`,
      "server.ts": `import { serveEndpoint } from "hookgate/bun";
import { endpoint } from "./endpoint.ts";

const { url } = await serveEndpoint(endpoint, { port: Number(process.env.PORT ?? "8788") });
console.log(\`listening on \${url}\`);
`,
      "hook.test.ts": `import assert from "node:assert/strict";
import { test } from "bun:test";
import { hook } from "./hook.ts";

Object.assign(process.env, ${TEST_ENV});
const { endpoint } = await import("./endpoint.ts");
${toFetchAnswer(`endpoint.fetch(${REQUEST})`)}${TEST_BODY}`,
      "README.md": toReadme({
        name,
        start: "`bun test` tests it, `bun start` serves it on 127.0.0.1:8788: put TLS in front.",
      }),
    },
    next: ["bun install", "bun test", "bun start"],
  };
}
