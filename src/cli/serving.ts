import { type ApprovalManagerOptions, toApprovalEvent } from "../approvals/index.ts";
import { isSameJson } from "../chain/index.ts";
import {
  type Config,
  keepApprovalsMs,
  listHookFiles,
  MAX_CONFIG_CHARS,
  PortPool,
  toApprovalSettings,
} from "../config/index.ts";
import { HookgateError } from "../errors.ts";
import {
  createGatewayFromConfig,
  createMemoryReplayStore,
  createReloadableGateway,
  createReloader,
  type Gateway,
  type GatewayLifecycle,
  PageSessions,
  type ReloadableGateway,
  type ReloadChange,
  type ReloadPort,
  type RetirableGateway,
} from "../gateway/index.ts";
import type { Log } from "../log.ts";
import { ReloadableHost, type RetirableHost } from "../picoclaw/index.ts";
import type { ReplayStore } from "../signing/replay.ts";
import type { CliHost } from "./host.ts";
import { type LoadedConfig, readFile, reloadConfig } from "./load.ts";
import { adoptSessions, assertReadable, assertRequired, toChange } from "./reload-change.ts";
import { type StartedHooks, startHooks } from "./start-hooks.ts";
import { WatchedFiles } from "./watched-files.ts";
import { startWatching, type Watching } from "./watching.ts";

type OnNews = NonNullable<ApprovalManagerOptions["onNews"]>;

/** How long notifications under way are waited for, in milliseconds. */
const FLUSH_MS = 2000;

/** Where a gateway listens by the command line; what it leaves out the config says. */
export interface ServingAddress {
  readonly hostname?: string | undefined;
  readonly port?: number | undefined;
}

/** Options of {@link openServing}. */
export interface OpenServingOptions {
  readonly host: CliHost;
  readonly log: Log;
  readonly address: ServingAddress;
}

/** A gateway with the hooks of a config file, which can be read again while it serves. */
export interface Serving extends ReloadPort {
  readonly gateway: Gateway;
  readonly hooks: ReloadableHost<RetirableHost>;
  /** The hooks as they came up at first. */
  readonly made: StartedHooks;
  /** Reads the config again when one of its files has changed, and on SIGHUP; the result lets go of that. */
  reloadOnChange(): () => void;
  /** Closes the hooks, and then what their decisions are recorded with. */
  close(): Promise<void>;
}

/**
 * Starts the hooks of a config and builds its gateway; nothing listens yet.
 * @throws {HookgateError} `ERR_CONFIG` when a required hook did not come up, the config needs what this runtime does not
 *   have, or it may not be served on its address
 */
export async function openServing(loaded: LoadedConfig, options: OpenServingOptions): Promise<Serving> {
  const { host, log, address } = options;
  const pool = new PortPool();
  let hooks: ReloadableHost<RetirableHost> | undefined;
  let gateway: Gateway | undefined;
  let first: StartedHooks | undefined;
  let generations: Generations | undefined;
  const watching = startWatching(loaded.config, {
    host,
    log,
    baseDir: loaded.baseDir,
    hooks: () => hooks?.hooks() ?? [],
    callsInFlight: () => gateway?.callsInFlight() ?? 0,
  });
  async function close(): Promise<void> {
    await hooks?.close();
    const { approvals, notifier } = generations?.made ?? first ?? {};
    const notifiers = [notifier, ...(generations?.finishing ?? [])].filter((each) => each !== undefined);
    await Promise.all(notifiers.map((each) => each.close(FLUSH_MS)));
    await approvals?.close();
    await watching.close();
  }
  try {
    const onNews: OnNews = (news, approval) => {
      hooks?.emit(toApprovalEvent(news, approval));
      (generations?.made ?? first)?.notifier?.tell(news, approval);
    };
    const onDecision = watching.toObserver(loaded.config, 1);
    first = await startHooks(loaded, { host, log, pool, keepsApprovals: true, onDecision, onNews });
    hooks = new ReloadableHost(first.host);
    const { config } = loaded;
    const hostname = address.hostname ?? config.gateway.host;
    const all = new Generations({ ...options, loaded, pool, hooks, hostname, first, watching, onNews });
    generations = all;
    gateway = await all.open();
    return {
      ...all.reloader,
      gateway,
      hooks,
      made: first,
      reloadOnChange: () => all.reloadOnChange(),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface GenerationsOptions extends OpenServingOptions {
  readonly loaded: LoadedConfig;
  readonly pool: PortPool;
  readonly hooks: ReloadableHost<RetirableHost>;
  readonly hostname: string;
  readonly first: StartedHooks;
  readonly watching: Watching;
  /** Tells the observers and notifications there are. */
  readonly onNews: OnNews;
}

/** What answers, made of one configuration. */
interface Generation {
  readonly gateway: RetirableGateway;
  readonly made: StartedHooks;
  /** Aborted when others may watch decisions than may now. */
  readonly streams: AbortController;
  readonly loaded: LoadedConfig;
}

/** The configurations of a serving gateway, one after the other. */
class Generations {
  readonly reloader: ReloadPort;
  /** What tells people the last of what was there before a reload. */
  readonly finishing = new Set<NonNullable<StartedHooks["notifier"]>>();
  readonly #options: GenerationsOptions;
  /** One for all: a signed request that was seen before a reload was seen. */
  readonly #replay = createMemoryReplayStore();
  /** Those who signed in to the pages stay so for as long as their token is good. */
  readonly #sessions: PageSessions;
  #gateway: ReloadableGateway | undefined;
  #made: StartedHooks;
  #loaded: LoadedConfig;
  #streams = new AbortController();
  #lastText: string | undefined;
  #files: WatchedFiles | undefined;

  constructor(options: GenerationsOptions) {
    this.#options = options;
    this.#made = options.first;
    this.#sessions = new PageSessions({ now: () => options.host.now() });
    this.#loaded = options.loaded;
    this.#lastText = options.loaded.text;
    this.reloader = createReloader({ apply: (generation) => this.#apply(generation), log: options.log });
  }

  /** What answers now. */
  get made(): StartedHooks {
    return this.#made;
  }

  async open(): Promise<Gateway> {
    this.#made.approvals?.tidy(keepApprovalsMs(this.#loaded.config));
    this.#gateway = createReloadableGateway(
      await this.#build(this.#made, { config: this.#loaded.config, streams: this.#streams }),
    );
    return this.#gateway;
  }

  reloadOnChange(): () => void {
    const { host, loaded } = this.#options;
    const onChange = (file: string): void => {
      if (file === loaded.file) void this.#reloadChanged();
      else void this.#reloadBecause(`${file} has changed`);
    };
    const files = new WatchedFiles(host, onChange);
    this.#files = files;
    files.set(this.#filesOf(this.#loaded));
    const dispose = host.onHangup(() => void this.#reloadBecause("SIGHUP"));
    // It may have changed while the hooks came up.
    void this.#reloadChanged();
    return () => {
      dispose();
      files.close();
    };
  }

  /** Reads the config again unless the file holds what was read last, good or not. */
  async #reloadChanged(): Promise<void> {
    const { host, loaded } = this.#options;
    const text = await readFile(loaded.file, host, MAX_CONFIG_CHARS).catch(() => undefined);
    // A file that is gone for a moment is being replaced.
    if (text !== undefined && text !== this.#lastText) await this.#reloadBecause(`${loaded.file} has changed`);
  }

  #reloadBecause(cause: string): Promise<unknown> {
    this.#options.log.info("reading the config again", { cause });
    return this.reloader.reload();
  }

  #filesOf({ config, file, baseDir }: LoadedConfig): readonly string[] {
    const { files, cwd } = this.#options.host.yaml;
    return [file, ...listHookFiles(config, { files, cwd, baseDir })];
  }

  async #apply(generation: number): Promise<ReloadChange> {
    const { host, log, loaded, pool, watching, onNews } = this.#options;
    const onText = (text: string): void => void (this.#lastText = text);
    const next = await reloadConfig(loaded.file, { host, onText });
    // Whatever stands in the way, mending it is a change too.
    this.#files?.set([...this.#filesOf(this.#loaded), ...this.#filesOf(next)]);
    this.#assertReloadable(next.config);
    const before = this.#made;
    // What people are asked for outlives a reload.
    const { approvals } = before;
    const isSameTelling = isSameJson(toTelling(next.config), toTelling(this.#loaded.config));
    const asking = { approvals, ...(isSameTelling && { links: before.links, notifier: before.notifier }) };
    const previous = { previous: before.manager, previousHost: before.host, asking };
    const onDecision = watching.toObserver(next.config, generation);
    const reach = { host, log, pool, keepsApprovals: true, onDecision, onNews };
    const made = await startHooks(next, { ...reach, ...previous, generation });
    let change: ReloadChange;
    try {
      assertReadable(before, made);
      // Who watches decisions may be one who must not any more.
      const isSameAuth = isSameJson(next.config.gateway.auth, this.#loaded.config.gateway.auth);
      const streams = isSameAuth ? this.#streams : new AbortController();
      const gateway = await this.#build(made, { config: next.config, streams });
      change = toChange(before, made);
      this.#swap({ gateway, made, streams, loaded: next });
    } catch (error) {
      await made.host.close();
      if (made.notifier !== before.notifier) await made.notifier?.close(0);
      if (made.approvals !== approvals) await made.approvals?.close();
      throw error;
    }
    const lost = await adoptSessions(before, made);
    const unwatched = await watching.follow(next.config);
    return { ...change, warnings: [...change.warnings, ...lost, ...unwatched] };
  }

  /** Nothing here waits: a call meets the old configuration or the new one. */
  #swap({ gateway, made, streams, loaded }: Generation): void {
    const { log, hooks } = this.#options;
    const { generation } = hooks;
    this.#gateway?.swap(gateway);
    void hooks.swap(made.host).then(() => log.info("the hooks of before are ended", { generation }));
    if (streams !== this.#streams) this.#streams.abort();
    this.#streams = streams;
    if (made.notifier !== this.#made.notifier) this.#finish(this.#made.notifier);
    this.#made = made;
    made.approvals?.tidy(keepApprovalsMs(loaded.config));
    this.#loaded = loaded;
    this.#files?.set(this.#filesOf(loaded));
  }

  /** What people were to be told before they are told all the same, though it has to be tried again for a while. */
  #finish(notifier: StartedHooks["notifier"]): void {
    if (notifier === undefined) return;
    this.finishing.add(notifier);
    void notifier.idle().then(() => this.finishing.delete(notifier));
  }

  async #build(
    { manager, started, yaml, approvals, links, notifier }: StartedHooks,
    { config, streams }: { readonly config: Config; readonly streams: AbortController },
  ): Promise<RetirableGateway> {
    const { host, log, hooks, hostname, watching } = this.#options;
    assertRequired(started);
    const required = new Set(started.filter((hook) => hook.required).map(({ name }) => name));
    const gateway = await createGatewayFromConfig(config.gateway, {
      ...watching.toPages(config),
      streamsEnd: streams.signal,
      host: hooks,
      approvals,
      links,
      notifications: notifier && (() => notifier.status()),
      lifecycle: yaml && this.#toLifecycle(yaml.lifecycle),
      hooks: () => manager.hooks().map((hook) => ({ ...hook, required: required.has(hook.name) })),
      reload: this.reloader,
      replay: approvals === undefined ? this.#replay : both(this.#replay, approvals.store.requests ?? approvals.store),
      sessions: this.#sessions,
      fetch: host.fetchKeys,
      crypto: host.ports.crypto,
      log,
      now: () => host.now(),
    });
    gateway.assertBindable(hostname);
    return gateway;
  }

  /** What the answers of a gateway show and change is current, also where the request began before a reload. */
  #toLifecycle(own: GatewayLifecycle): GatewayLifecycle {
    const current = (): GatewayLifecycle => this.#made.yaml?.lifecycle ?? own;
    return {
      hooks: (session) => current().hooks(session),
      get sessions() {
        return current().sessions;
      },
      get storedSessions() {
        return current().storedSessions;
      },
    };
  }

  /** What is made once and for all cannot become another while the gateway runs. */
  #assertReloadable({ gateway: { host, port }, metrics, ...rest }: Config): void {
    const { address, loaded } = this.#options;
    const { gateway: first, ...own } = loaded.config;
    const lines: string[] = [];
    if (address.hostname === undefined && host !== first.host) {
      lines.push(`gateway.host: another address needs a restart; the gateway listens on "${first.host}"`);
    }
    if (address.port === undefined && port !== first.port) {
      lines.push(`gateway.port: another port needs a restart; the config it was started with says ${first.port}`);
    }
    if (!isSameJson(metrics, own.metrics)) lines.push("metrics: to switch metrics on or off needs a restart");
    if (
      this.#made.approvals !== undefined &&
      !isSameJson(toApprovalSettings(rest), toApprovalSettings(this.#loaded.config))
    ) {
      lines.push("approvals: another store or mask needs a restart, for there may be approvals that are waited for");
    }
    if (lines.length > 0) throw new HookgateError("ERR_CONFIG", lines.join("\n"));
  }
}

/** What a change of needs other notifications. */
function toTelling({ approvals, gateway }: Config): unknown {
  return [approvals, gateway.id];
}

/** What was seen before there was another store was seen all the same. */
function both(own: ReplayStore, shared: ReplayStore): ReplayStore {
  return {
    insert: async (key, expiresAtMs) => (await own.insert(key, expiresAtMs)) && shared.insert(key, expiresAtMs),
  };
}
