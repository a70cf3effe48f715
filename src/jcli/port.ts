import type { CallScope, Current } from "../chain/index.ts";
import { readAnswer, readOutput } from "./answer.ts";
import { encodeContext, type HookContext } from "./context.ts";
import { RUN_METHOD } from "./codec.ts";
import {
  type BashDefinition,
  type CheckHttp,
  HOOK_TYPES,
  type HookDefinition,
  type HookType,
  type HttpDefinition,
  type LlmDefinition,
} from "./definition.ts";
import { renderPrompt } from "./template.ts";

/** Calls one hook; the reply, or a promise of it, is its result as it came. */
export interface LifecycleCall {
  (context: Current<HookContext>, scope: CallScope): unknown;
  /** Lets go of what the calls need, such as a connection; it does not reject. */
  readonly close?: (() => Promise<void>) | undefined;
}

/** Makes the calls of hooks of one type from their definitions. */
export type LifecyclePort<D> = (definition: D) => LifecycleCall;

/** How hooks are reached, by type. A type without a port cannot run here. */
export interface LifecyclePorts {
  readonly bash?: LifecyclePort<BashDefinition> | undefined;
  readonly llm?: LifecyclePort<LlmDefinition> | undefined;
  readonly http?: LifecyclePort<HttpDefinition> | undefined;
  /** Checks what the http port is to connect to. @default nothing but the definition's form is checked */
  readonly checkHttp?: CheckHttp | undefined;
}

/** The types that have a port. */
export function typesOf(ports: LifecyclePorts): readonly HookType[] {
  return HOOK_TYPES.filter((type) => ports[type] !== undefined);
}

/**
 * The call of a hook.
 * @throws {RangeError} when its type has no port
 */
export function createCall(definition: HookDefinition, ports: LifecyclePorts): LifecycleCall {
  const call = callOf(definition, ports);
  if (call === undefined) throw new RangeError(`${definition.type} hooks cannot run here`);
  return call;
}

function callOf(definition: HookDefinition, { bash, llm, http }: LifecyclePorts): LifecycleCall | undefined {
  if (definition.type === "bash") return bash?.(definition);
  return definition.type === "llm" ? llm?.(definition) : http?.(definition);
}

/** A shell command as it is run once. */
export interface ShellCommand {
  /** What the shell is given. */
  readonly command: string;
  /** The directory it runs in. */
  readonly cwd: string;
  /** Variables set on top of the host's own. */
  readonly env: Readonly<Record<string, string>>;
  /** What its stdin holds. */
  readonly input: string;
}

/**
 * Runs a shell command and resolves to its stdout once it has exited with code 0.
 * @throws {HookCallError} when there is no such output
 */
export type RunCommand = (command: ShellCommand, scope: CallScope) => Promise<string>;

/** Calls bash hooks by running their commands. */
export function createBashPort(run: RunCommand): LifecyclePort<BashDefinition> {
  return ({ command }) =>
    async (context, scope) => {
      const { event, cwd } = context.value;
      const env = { JCLI_HOOK_EVENT: event, JCLI_CWD: cwd };
      return readOutput(await run({ command, cwd, env, input: context.encode(encodeContext) }, scope));
    };
}

/** A question to a model. */
export interface ModelQuestion {
  readonly prompt: string;
  /** The model asked; absent is the provider's own. */
  readonly model?: string;
}

/**
 * Asks a model and resolves to the text it answered.
 * @throws {HookCallError} when there is no such text
 */
export type AskModel = (question: ModelQuestion, scope: CallScope) => Promise<string>;

/** Calls llm hooks by asking a model. */
export function createLlmPort(ask: AskModel): LifecyclePort<LlmDefinition> {
  return ({ prompt, model }) =>
    async (context, scope) => {
      const question = { prompt: renderPrompt(prompt, context.value), ...(model === undefined ? {} : { model }) };
      return readAnswer(await ask(question, scope));
    };
}

/** One message to an endpoint. */
export interface EndpointMessage {
  readonly method: string;
  /** JSON text. */
  readonly params: string;
  /** What the params were made of: the same object for every hook that is sent the same. */
  readonly payload: object;
}

/** The way to one endpoint. */
export interface LifecycleEndpoint {
  /**
   * Calls a method and resolves to its result as it came.
   * @throws {HookCallError} when there is none
   */
  call(message: EndpointMessage, scope: CallScope): Promise<unknown>;
  close(): Promise<void>;
}

/** Calls http hooks with `hook.run`: the context goes out, the result comes back. Nothing is sent before it is asked for. */
export function createHttpPort(open: (definition: HttpDefinition) => LifecycleEndpoint): LifecyclePort<HttpDefinition> {
  return (definition) => {
    const endpoint = open(definition);
    const call: LifecycleCall = (context, scope) =>
      endpoint.call({ method: RUN_METHOD, params: context.encode(encodeContext), payload: context }, scope);
    return Object.assign(call, { close: () => endpoint.close() });
  };
}
