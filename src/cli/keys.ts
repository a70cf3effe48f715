import { HookgateError } from "../errors.ts";
import { isObject } from "../is-object.ts";
import { createPrivateJwk, parsePrivateJwks, type PrivateJwk } from "../signing/jwk.ts";
import { createSecretKey, createSigningKey, MIN_SECRET_BYTES, toJwks } from "../signing/keys.ts";
import { type Args, UsageError } from "./args.ts";
import { type Command, EXIT } from "./command.ts";
import type { CliHost } from "./host.ts";
import { readFile } from "./load.ts";
import { toLine } from "./text.ts";

const ALGORITHMS = ["ES256", "EdDSA", "Ed25519", "HS256"] as const;
const STEPS = ["add", "switch", "retire"] as const;
const SIGNING_KEY = "HOOKGATE_SIGNING_KEY";
const SECRET_BYTES = 32;

/** `hookgate keys`: makes, shows and rotates keys. */
export const keys: Command = {
  name: "keys",
  summary: "Makes, shows and rotates the keys that sign calls.",
  usage: "keys new|public|rotate|fingerprint [--alg ALG] [--out FILE | --stdout] [--key FILE]",
  details: [
    "new makes a private key (a JWK) or, with --alg HS256, a shared secret. It goes to a file that only its owner can read, or to stdout when that is asked for; it is never in a log.",
    "public prints the public half as a JWK Set, which is what endpoints are given. fingerprint prints the key id: of a secret, too, to compare both sides without showing it.",
    "rotate changes a key file in three steps, each when the one before is in force everywhere: add makes a second key, which is published and does not sign yet; switch lets it sign; retire removes the old one. A secret is rotated in the config instead: list the new one and the old one.",
  ],
  options: {
    alg: { value: "ALG", help: `For new: ${ALGORITHMS.join(", ")}. Without it: ES256, which every library has.` },
    webhook: { help: 'For new with --alg HS256: writes it as "whsec_…", for scheme standard-webhooks.' },
    out: { value: "FILE", short: "o", help: "For new: the file it is written to. One that is there is not replaced." },
    stdout: { help: "For new: prints it instead." },
    key: { value: "FILE", help: "For the others: the file of the key." },
    "key-env": {
      value: "NAME",
      help: `For public and fingerprint: the environment variable that holds it. Without both: ${SIGNING_KEY}.`,
    },
    step: { value: "STEP", help: `For rotate: ${STEPS.join(", ")}.` },
  },
  maxPositionals: 1,
  examples: [
    { line: "hookgate keys new --out signing.jwk", help: "the gateway's key" },
    { line: "hookgate keys public --key signing.jwk", help: "what endpoints are given" },
    { line: "hookgate keys new --alg HS256 --stdout", help: "a secret to share with one endpoint" },
    { line: "hookgate keys rotate --key signing.jwk --step add", help: "the first of three steps" },
    { line: "hookgate keys fingerprint --key signing.jwk", help: "its key id" },
  ],
  exitCodes: { 0: "done", 1: "the command line or the key is not good, or the file cannot be written" },
  run: runKeys,
};

const ACTIONS: Readonly<Record<string, (args: Args, host: CliHost) => Promise<number>>> = {
  new: createNew,
  public: showPublic,
  rotate,
  fingerprint,
};

const FLAGS: Readonly<Record<string, readonly string[]>> = {
  new: ["alg", "webhook", "out", "stdout"],
  public: ["key", "key-env"],
  rotate: ["key", "step"],
  fingerprint: ["key", "key-env"],
};

function runKeys(args: Args, host: CliHost): Promise<number> {
  const [word] = args.positionals;
  const action = word !== undefined && Object.hasOwn(ACTIONS, word) ? ACTIONS[word] : undefined;
  if (word === undefined || action === undefined) {
    throw new UsageError(`what with keys? expected one of ${Object.keys(ACTIONS).join(", ")}`);
  }
  const stray = args.names.find((name) => !FLAGS[word]?.includes(name));
  if (stray !== undefined) throw new UsageError(`--${stray} has no meaning with keys ${word}`);
  return action(args, host);
}

async function createNew(args: Args, host: CliHost): Promise<number> {
  const given = args.get("alg") ?? "ES256";
  const alg = ALGORITHMS.find((name) => name === given);
  if (alg === undefined)
    throw new UsageError(`--alg: expected one of ${ALGORITHMS.join(", ")}, got "${toLine(given)}"`);
  if (args.has("webhook") && alg !== "HS256") throw new UsageError("--webhook is for --alg HS256");
  const file = args.get("out");
  if ((file === undefined) === !args.has("stdout")) throw new UsageError("where to? --out FILE, or --stdout");
  const text = alg === "HS256" ? createSecret(args.has("webhook")) : `${JSON.stringify(await createPrivateJwk(alg))}\n`;
  if (file === undefined) {
    host.stdout.write(text);
    return EXIT.ok;
  }
  await writeKey(file, text, { host, replaces: false });
  host.stdout.write(`${toLine(file)}: ${(await idsOf(text, file)).join(", ")}\n`);
  return EXIT.ok;
}

function createSecret(isWebhook: boolean): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  const base64 = btoa(String.fromCharCode(...bytes));
  if (isWebhook) return `whsec_${base64}\n`;
  return `${base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}\n`;
}

async function showPublic(args: Args, host: CliHost): Promise<number> {
  const { text, source } = await readKey(args, host);
  const signing = await Promise.all(parseKeys(text, source).map((jwk) => createSigningKey(jwk)));
  host.stdout.write(`${JSON.stringify(toJwks(signing), null, 2)}\n`);
  return EXIT.ok;
}

async function fingerprint(args: Args, host: CliHost): Promise<number> {
  const { text, source } = await readKey(args, host);
  for (const id of await idsOf(text, source)) host.stdout.write(`${id}\n`);
  return EXIT.ok;
}

const NEXT: Readonly<Record<(typeof STEPS)[number], string>> = {
  add: "restart the gateway with it. Wait until every endpoint has the new key: 10 minutes where they fetch it, and give it to those it is pinned at. Then: --step switch",
  switch:
    "restart the gateway with it. Wait 2 minutes, until nothing that the old key signed is valid. Then: --step retire",
  retire: "restart the gateway with it. The rotation is done",
};

async function rotate(args: Args, host: CliHost): Promise<number> {
  const step = STEPS.find((name) => name === args.get("step"));
  if (step === undefined) throw new UsageError(`--step: expected one of ${STEPS.join(", ")}`);
  const file = args.get("key");
  if (file === undefined) throw new UsageError("--key: which file?");
  const { text } = await readKey(args, host);
  const [first, second] = parseKeys(text, file);
  const rotated = await toRotated(step, { first, second, last: readLastStep(text) });
  const value = rotated.length === 1 ? rotated[0] : { keys: rotated, step };
  await writeKey(file, `${JSON.stringify(value)}\n`, { host, replaces: true });
  const ids = await idsOf(JSON.stringify(value), file);
  host.stdout.write(
    `${toLine(file)}: ${ids.join(", ")}${ids.length > 1 ? " (the first signs)" : ""}\nnext: ${NEXT[step]}\n`,
  );
  return EXIT.ok;
}

interface KeyPairs {
  readonly first: PrivateJwk | undefined;
  readonly second: PrivateJwk | undefined;
  /** The step that made the set; undefined when somebody else did. */
  readonly last: string | undefined;
}

/** Which step a set comes from is in it, since its keys do not tell which of them is the new one. */
function readLastStep(text: string): string | undefined {
  const set: unknown = JSON.parse(text);
  const step = isObject(set) ? set["step"] : undefined;
  return typeof step === "string" ? step : undefined;
}

async function toRotated(
  step: (typeof STEPS)[number],
  { first, second, last }: KeyPairs,
): Promise<readonly PrivateJwk[]> {
  if (first === undefined) throw new HookgateError("ERR_CONFIG", "the file holds no key");
  if (step === "add") {
    if (second !== undefined) throw new UsageError("--step add: there are two keys already; switch or retire is next");
    return [first, await createPrivateJwk(first.alg)];
  }
  if (second === undefined) throw new UsageError(`--step ${step}: there is one key; add is first`);
  if (step === "retire") {
    if (last === "add") throw new UsageError("--step retire: the new key does not sign yet; switch is next");
    return [first];
  }
  if (last === "switch") throw new UsageError("--step switch: the new key signs already; retire is next");
  return [second, first];
}

interface KeyText {
  readonly text: string;
  /** Where it came from, for messages. */
  readonly source: string;
}

async function readKey(args: Args, host: CliHost): Promise<KeyText> {
  const file = args.get("key");
  if (file !== undefined && args.has("key-env")) throw new UsageError("--key and --key-env exclude each other");
  if (file !== undefined) {
    const text = await readFile(file, host);
    if (text === undefined) throw new HookgateError("ERR_CONFIG", `there is no file ${file}`);
    return { text: text.trim(), source: file };
  }
  const name = args.get("key-env") ?? SIGNING_KEY;
  const text = host.env[name] ?? "";
  if (text === "") throw new UsageError(`the environment variable ${name} is not set; name a file with --key FILE`);
  return { text: text.trim(), source: name };
}

function parseKeys(text: string, source: string): readonly PrivateJwk[] {
  if (!text.trimStart().startsWith("{")) {
    throw new HookgateError("ERR_CONFIG", `${source}: a shared secret, or no key at all; a private JWK is needed`);
  }
  return parsePrivateJwks(text);
}

/** The ids of the keys in a text, or of the secret it is. */
async function idsOf(text: string, source: string): Promise<readonly string[]> {
  const trimmed = text.trim();
  if (trimmed.startsWith("{")) {
    return Promise.all(parseKeys(trimmed, source).map(async (jwk) => (await createSigningKey(jwk)).kid));
  }
  if (new TextEncoder().encode(trimmed).length < MIN_SECRET_BYTES) {
    throw new HookgateError("ERR_CONFIG", `${source}: a secret must have at least ${MIN_SECRET_BYTES} bytes`);
  }
  return [(await createSecretKey(trimmed)).kid];
}

async function writeKey(
  file: string,
  text: string,
  { host, replaces }: { readonly host: CliHost; readonly replaces: boolean },
): Promise<void> {
  try {
    await host.writeFile(file, text, { isSecret: true, replaces });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new HookgateError("ERR_CONFIG", `cannot write ${file}: ${why}`, { cause });
  }
}
