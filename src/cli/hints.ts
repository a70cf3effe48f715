/** What a hint may name. */
export interface HintContext {
  /** The hook's URL, as configured. */
  readonly url?: string;
  /** The gateway's id. */
  readonly id?: string;
  /** The name the endpoint signs with. */
  readonly name?: string;
}

type Hint = (context: HintContext) => string;

const KEYS: Hint = () =>
  "both sides need the same secret, or the endpoint the gateway's public key: compare with hookgate keys fingerprint";
const CLOCK: Hint = () => "a clock is wrong: at most 30 s may lie between the two";
const LOG: Hint = () => "the endpoint, or what stands before it, fails: its log should say why";
const NO_ENDPOINT: Hint = () => "that is no hook endpoint: a login page or a proxy may stand before it";
const REDIRECT: Hint = () => "redirects are not followed: use the URL it leads to";
const AUDIENCE: Hint = ({ url = "" }) => `the endpoint must be configured with exactly this URL: ${url}`;

/** By what was found: a step, or `request:` and `reply:` with the reason each was refused for; without one, any other. */
const HINTS: Readonly<Record<string, Hint>> = {
  dns: () => "is the host in the hook's url spelled right?",
  connect: () => "is the endpoint running, and are host and port right?",
  tls: () =>
    "is the port one for https, and its certificate valid for that host and trusted by this machine (NODE_EXTRA_CA_CERTS adds a CA)?",
  clock: CLOCK,
  "request:signature_missing": () => 'the endpoint wants signed calls: give the hook a "secret", or the gateway a key',
  "request:kid_unknown": KEYS,
  "request:alg_not_allowed": () => "one side has a secret and the other a key pair: both need the same kind",
  "request:signature_invalid": KEYS,
  "request:iss_mismatch": ({ id = "" }) => `the endpoint must be configured with the gateway's id, which is "${id}"`,
  "request:aud_mismatch": AUDIENCE,
  "request:expired": CLOCK,
  "request:not_yet_valid": CLOCK,
  "request:keys_unavailable": () =>
    "the endpoint cannot fetch the gateway's keys: can it reach /.well-known/jwks.json?",
  "request:unauthorized": () => 'something before the endpoint wants credentials: "headers" can carry them',
  "request:status_404": () => "is the path in the hook's url right?",
  "request:status_405": () => "is the path in the hook's url right? An endpoint takes POST",
  "request:status_2xx": NO_ENDPOINT,
  "request:status_3xx": REDIRECT,
  "request:status_429": () => "it wants fewer calls: what stands before the endpoint may have a limit",
  "request:status_4xx": LOG,
  "request:status_5xx": LOG,
  "request:timeout": () =>
    "the endpoint takes the call and does not answer: is it busy, or does it wait for something?",
  "request:unreachable": LOG,
  "request:too_large": () => 'if it has to be that long, "max_message_bytes" allows more',
  "request:content_type": NO_ENDPOINT,
  "request:replay_store_unavailable": () => "the endpoint cannot reach its replay store",
  "request:rpc_error": () => 'the endpoint does not know hook.hello? "handshake": "none" skips it',
  "reply:signature_missing": () => "the endpoint does not sign its replies: it needs the secret, or a key of its own",
  "reply:kid_unknown": () =>
    "the endpoint signs with a key that is not trusted here: check reply_key, reply_jwks or the secret",
  "reply:alg_not_allowed": () => "the endpoint signs with another kind of key than is trusted here",
  "reply:iss_mismatch": ({ name = "" }) => `if that is its name, give the hook "endpoint": ${JSON.stringify(name)}`,
  "reply:aud_mismatch": ({ id = "" }) => `the endpoint answers another gateway than "${id}"`,
  "reply:expired": CLOCK,
  "reply:not_yet_valid": CLOCK,
  "reply:keys_unavailable": () => "can this machine reach reply_jwks?",
  "reply:signature_invalid": KEYS,
  "reply:bh_mismatch": () => "something between the two changes replies",
  "request:": () => "the endpoint does not answer, or does not verify, as docs/protocol.md and docs/signing.md say",
  "reply:": () => "the endpoint does not sign its replies as docs/signing.md says",
};

/** What to do about something, as a part of a step; nothing where nothing useful is known. */
export function hintOf(found: string, context: HintContext = {}): { readonly hint?: string } {
  // By itself, then as one status of its hundred, then as any answer.
  const names = [found, found.replace(/\d\d$/, "xx"), found.replace(/:.*$/, ":")];
  const name = names.find((each) => Object.hasOwn(HINTS, each));
  const hint = name === undefined ? undefined : HINTS[name];
  return hint === undefined ? {} : { hint: hint(context) };
}
