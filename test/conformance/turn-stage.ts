import { createGatewayClient } from "../../src/client/index.ts";
import { createTurn, type Hook, type HookHost, type Turn, type TurnOptions } from "../../src/picoclaw/index.ts";
import type { Case } from "./case.ts";
import { bothOf } from "./composite.cases.ts";
import { gatewayOf } from "./gateway-fixture.ts";
import type { Bench, Script } from "./jcli-fixture.ts";

/** Where the behaviour of turns with both systems is asked for. */
export const SOURCE = "YAML hook system, section 2; both systems in one turn";

/** A request to a model. */
export const request = { model: "m", messages: [{ role: "user", content: "hi" }] };

/** The commands that were run. */
export const ranOf = ({ commands }: Bench): readonly string[] => commands.map(({ command }) => command);

/** A turn, and what came of it. */
export interface Stage {
  readonly turn: Turn;
  readonly host: HookHost;
  readonly bench: Bench;
  /** What the user was shown, and where it came from. */
  readonly shown: string[];
}

/** What each event's command does. */
export type Scripts = Readonly<Record<string, Script>>;
/** What a turn is made with. */
export type Setting = TurnOptions & { readonly hooks?: Readonly<Record<string, Hook>> };

/** A turn in this process, and one whose hooks are behind a gateway. */
const KINDS: Readonly<Record<string, (host: HookHost) => Promise<HookHost>>> = {
  local: async (host) => host,
  gateway: async (host) => {
    const gateway = await gatewayOf({}, { host });
    return createGatewayClient({
      url: "http://127.0.0.1:8787",
      fetch: (url, { method, headers, body, signal }) =>
        gateway.fetch(new Request(url, { method, headers: { ...headers }, body: body ?? null, signal })),
    });
  },
};

async function stageOf(
  kind: (host: HookHost) => Promise<HookHost>,
  scripts: Scripts,
  { hooks = {}, ...options }: Setting = {},
): Promise<Stage> {
  const { host: inner, bench } = await bothOf(scripts, hooks);
  const host = await kind(inner);
  const shown: string[] = [];
  const onSystemMessage: TurnOptions["onSystemMessage"] = (message, { stage }) =>
    void shown.push(`${stage}: ${message}`);
  return { turn: createTurn(host, { onSystemMessage, ...options }), host, bench, shown };
}

/** A behaviour, run on a stage. */
export type Run = (stage: (scripts: Scripts, setting?: Setting) => Promise<Stage>) => Promise<void>;

/** Lets what runs in the background go on. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}

/** Each behaviour in this process, and with the hooks behind a gateway. */
export function casesOfTurns(runs: Readonly<Record<string, Run>>): readonly Case[] {
  return Object.entries(KINDS).flatMap(([name, kind]) =>
    Object.entries(runs).map(([behaviour, run]) => ({
      id: `turn-lifecycle/${name}/${behaviour}`,
      source: SOURCE,
      run: () => run((scripts, setting) => stageOf(kind, scripts, setting)),
    })),
  );
}
