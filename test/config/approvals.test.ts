import { expect, test } from "vitest";
import { createMemoryApprovalStore } from "../../src/approvals/index.ts";
import {
  type ApprovalStoreKind,
  ConfigError,
  createApprovalsFromConfig,
  createBuiltins,
  parseConfig,
  type StoreAddress,
} from "../../src/config/index.ts";

const HOOK = { enabled: true, config: { rules: [{}] } };
const hooks = { builtins: { human_approval: HOOK } };

function parse(file: object, approvalStores?: readonly ApprovalStoreKind[]): ReturnType<typeof parseConfig> {
  return parseConfig(JSON.stringify({ hooks: {}, ...file }), { env: {}, builtins: createBuiltins(), approvalStores });
}

function problemsOf(file: object, stores?: readonly ApprovalStoreKind[]): readonly string[] {
  try {
    parse(file, stores);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(({ path, message }) => `${path}: ${message.slice(0, 40)}`);
  }
}

function ruled(rule: object): object {
  return { hooks: { builtins: { human_approval: { enabled: true, config: { rules: [rule] } } } } };
}

const SECRET = "a shared secret of more than 32 bytes, for tests";
const TOKEN = "hooks.processes.desk.approval_token";

/** A hook over HTTP whose approvals have to be signed. */
function remote(token: object, entry: object = {}): object {
  const url = "https://desk.example.com/hook";
  const hook = { enabled: true, transport: "http", url, secret: SECRET, intercept: ["approve_tool"] };
  return { hooks: { processes: { desk: { ...hook, approval_token: { issuer: "desk", ...token }, ...entry } } } };
}

const RULE = "hooks.builtins.human_approval.config.rules[0]";

test.each<[object, readonly string[]]>([
  [{}, []],
  [{ hooks }, []],
  [{ approvals: {} }, []],
  [{ approvals: { store: "memory", keep_days: 1, mask: ["arguments.password"] } }, []],
  [{ approvals: { store: "sqlite:data/a.db" } }, []],
  [{ approvals: { store: "sqlite:" } }, ['approvals.store: expected "sqlite:FILE", "memory", "redis']],
  [{ approvals: { store: "redis://:p%40ss@127.0.0.1:6379/1?prefix=bots" } }, []],
  [{ approvals: { store: "redis://127.0.0.1/one" } }, ["approvals.store: the URL of the Redis store"]],
  [{ approvals: { store: "a.db" } }, ['approvals.store: expected "sqlite:FILE", "memory", "redis']],
  [{ approvals: { store: "durable_object:APPROVALS" } }, ['approvals.store: this runtime has no store of the kind "d']],
  [{ approvals: { mask: ["ok", "a..b"] } }, ["approvals.mask[1]: not a path: expected keys with dots betw"]],
  [{ approval: {} }, ["approval: unknown key"]],
  [
    ruled({ match: { tool: ["bash"] }, require: 2, approvers: ["a", "b"], expires_ms: 1000, wait_ms: 0, risk: "low" }),
    [],
  ],
  [ruled({ require: 3, approvers: ["a", "b"] }), [`${RULE}.require: more approvals are required than there a`]],
  [ruled({ require: 2, approvers: ["a", "a"] }), [`${RULE}.require: more approvals are required than there a`]],
  [ruled({ match: { tol: ["bash"] } }), [`${RULE}.match.tol: unknown key`]],
  [ruled({ wait: 5 }), [`${RULE}.wait: unknown key`]],
  [
    { hooks: { builtins: { human_approval: { enabled: true } } } },
    ["hooks.builtins.human_approval.config.rules: missing"],
  ],
  [remote({ secret: SECRET }), []],
  [remote({ jwks_url: "https://desk.example.com/jwks.json" }), []],
  [remote({}), [`${TOKEN}: expected one of key, jwks_url, secret, g`]],
  [remote({ secret: SECRET, jwks_url: "https://a.example/k" }), [`${TOKEN}: expected one of key, jwks_url, secret, g`]],
  [remote({ secret: "short" }), [`${TOKEN}.secret: `]],
  [remote({ jwks_url: "ftp://a.example/k" }), [`${TOKEN}.jwks_url: `]],
  [remote({ secret: SECRET }, { intercept: ["before_tool"] }), [`${TOKEN}: has no meaning for a hook that is not c`]],
  [remote({ secret: SECRET }, { cache: {} }), ["hooks.processes.desk.cache: does not go with "]],
  [
    { hooks: { builtins: { human_approval: { enabled: true, config: { rules: [{}], sign_for: "outer" } } } } },
    ["hooks.builtins.human_approval.config.sign_for: decisions can only be signed by "],
  ],
])("%j", (file, problems) => {
  expect(problemsOf(file).map((text) => text.slice(0, (problems[0] ?? "").length))).toEqual(problems);
});

test.each(["redis://:hunter2@h:99999", "redis://:hunter2@h/one", "redis://:hunter2@h?x=1", "redix://:hunter2@h"])(
  "no problem says the password of %s",
  (store) => {
    const thrown = (): unknown => parse({ approvals: { store } });
    expect(thrown).toThrow(ConfigError);
    expect(thrown).not.toThrow("hunter2");
  },
);

test("a runtime without stores refuses a config that needs one, and no other", () => {
  expect(problemsOf({ hooks }, [])).toEqual(['approvals.store: missing: the default is "sqlite:hookgate']);
  expect(problemsOf({ approvals: { store: "memory" } }, ["durable_object"])).toHaveLength(1);
  expect(problemsOf({ hooks: { enabled: false, ...hooks } }, [])).toEqual([]);
  expect(problemsOf({ hooks: { builtins: { human_approval: { ...HOOK, enabled: false } } } }, [])).toEqual([]);
});

test("approvals are made where a config has the hook or the section, with the masks of records unless it has its own", async () => {
  const opened: StoreAddress[] = [];
  const make = (file: object): ReturnType<typeof createApprovalsFromConfig> =>
    createApprovalsFromConfig(parse(file), {
      openStore: (address) => {
        opened.push(address);
        return createMemoryApprovalStore();
      },
    });
  expect(make({})).toBeUndefined();
  expect(make({ hooks: { enabled: false, ...hooks } })).toBeUndefined();
  const records = { record: { payload: "masked", mask: ["arguments.a"] } };
  const shown = [];
  for (const file of [
    { hooks, records },
    { approvals: { store: "memory", mask: ["arguments.b"] }, records },
  ]) {
    const asked = await make(file)?.ask({
      agent: "",
      session: "",
      tool: "t",
      arguments: { a: "1", b: "2" },
      hook: "",
      reason: "",
      require: 1,
      approvers: [],
      expiresMs: 1000,
      useWithinMs: 1000,
    });
    shown.push(asked?.approval.arguments);
  }
  expect(shown).toEqual([
    { a: "[masked]", b: "2" },
    { a: "1", b: "[masked]" },
  ]);
  expect(opened).toEqual([
    { kind: "sqlite", target: "hookgate-approvals.db" },
    { kind: "memory", target: "" },
  ]);
  expect(() => createApprovalsFromConfig(parse({ hooks }), { openStore: undefined })).toThrow(ConfigError);
});
