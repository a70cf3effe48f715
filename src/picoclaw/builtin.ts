import * as z from "zod";
import type { Log } from "../log.ts";
import { createGlob } from "./glob.ts";
import type { Hook } from "./hook.ts";

/** What a built-in hook is given besides its config. */
export interface BuiltinContext {
  readonly log: Log;
}

/** Makes a hook from its config. What it throws is reported as a problem of that config. */
export type BuiltinFactory<C> = (config: C, context: BuiltinContext) => Hook;

/** Options of {@link BuiltinRegistry.register}. */
export interface BuiltinOptions<C> {
  /** Checks the config before the factory sees it; a config that is absent is checked as `{}`. */
  readonly schema: z.ZodType<C>;
}

interface Builtin {
  readonly schema: z.ZodType;
  create(config: unknown, context: BuiltinContext): Hook;
}

/** The hooks a config file can name under `builtins`. */
export class BuiltinRegistry {
  readonly #builtins = new Map<string, Builtin>();

  /** Another registry with the same hooks, to which more can be added. */
  copy(): BuiltinRegistry {
    const registry = new BuiltinRegistry();
    for (const [name, builtin] of this.#builtins) registry.#builtins.set(name, builtin);
    return registry;
  }

  /** The registered names, in the order in which they were registered. */
  get names(): readonly string[] {
    return [...this.#builtins.keys()];
  }

  /**
   * Adds a hook that config files can name.
   * @throws {TypeError} when the name is empty or taken
   */
  register(name: string, factory: BuiltinFactory<unknown>): void;
  register<C>(name: string, factory: BuiltinFactory<C>, options: BuiltinOptions<C>): void;
  register<C>(name: string, factory: BuiltinFactory<C>, options?: BuiltinOptions<C>): void {
    if (typeof name !== "string" || name === "") throw new TypeError("register: name must not be empty");
    if (this.#builtins.has(name)) throw new TypeError(`register: the built-in hook "${name}" is there already`);
    const schema: z.ZodType<C> = options?.schema ?? z.custom<C>(() => true);
    this.#builtins.set(name, { schema, create: (config, context) => factory(schema.parse(config ?? {}), context) });
  }

  /** The schema of a built-in hook's config; undefined when there is no such hook. */
  schemaOf(name: string): z.ZodType | undefined {
    return this.#builtins.get(name)?.schema;
  }

  /**
   * Makes a hook.
   * @throws {TypeError} when no hook has that name
   * @throws {Error} what the schema or the factory throws
   */
  create(name: string, config: unknown, context: BuiltinContext): Hook {
    const builtin = this.#builtins.get(name);
    if (builtin === undefined) throw new TypeError(`create: no built-in hook is called "${name}"`);
    return builtin.create(config, context);
  }
}

/** A registry with the hooks that come with hookgate: `deny_tools` and `log`. */
export function createBuiltinRegistry(): BuiltinRegistry {
  const registry = new BuiltinRegistry();
  registry.register("deny_tools", createDenyToolsHook, { schema: denyToolsSchema });
  registry.register("log", createLogHook, { schema: logSchema });
  return registry;
}

/** Config of the built-in hook `deny_tools`. */
export interface DenyToolsConfig {
  /** Tool names; `*` stands for any characters. */
  readonly tools: readonly string[];
  /** What the model is told. @default `tool "NAME" is not allowed` */
  readonly reason?: string;
}

const denyToolsSchema: z.ZodType<DenyToolsConfig> = z.strictObject({
  tools: z
    .array(z.string().min(1))
    .min(1)
    .describe("Names of the tools that may not run; * stands for any characters."),
  reason: z.string().min(1).exactOptional().describe("What the model is told."),
});

/** A hook that denies tools by name, whatever their arguments. Names are case-sensitive. */
export function createDenyToolsHook({ tools, reason }: DenyToolsConfig): Hook {
  const patterns = tools.map(createGlob);
  return {
    beforeTool({ tool }) {
      if (!patterns.some((fits) => fits(tool))) return undefined;
      return { action: "deny_tool", reason: reason ?? `tool "${tool}" is not allowed` };
    },
  };
}

/** Config of the built-in hook `log`. */
export interface LogConfig {
  /** How loud the lines are. */
  readonly level: "debug" | "info";
}

const logSchema: z.ZodType<LogConfig> = z.strictObject({
  level: z.enum(["debug", "info"]).default("info").describe("How loud the lines are."),
});

/**
 * A hook that logs each call and each event: the point, the tool's or the model's name and the turn, never a payload.
 * It is no approver, so it can never stand in the way of a call.
 */
export function createLogHook({ level }: LogConfig, { log }: BuiltinContext): Hook {
  const write = (
    point: string,
    names: { readonly tool?: string; readonly model?: string; readonly turn: string },
  ): void => log[level](point, names);
  return {
    beforeLlm: ({ model, meta }) => write("before_llm", { model, turn: meta.TurnID }),
    afterLlm: ({ model, meta }) => write("after_llm", { model, turn: meta.TurnID }),
    beforeTool: ({ tool, meta }) => write("before_tool", { tool, turn: meta.TurnID }),
    afterTool: ({ tool, meta }) => write("after_tool", { tool, turn: meta.TurnID }),
    onEvent({ Kind, Meta, Payload }) {
      const tool = toolOf(Payload);
      write(Kind, { ...(tool === undefined ? {} : { tool }), turn: Meta.TurnID });
    },
  };
}

function toolOf(payload: unknown): string | undefined {
  if (typeof payload !== "object" || payload === null || !("Tool" in payload)) return undefined;
  return typeof payload.Tool === "string" ? payload.Tool : undefined;
}
