import type { Hono } from "hono";
import { HookgateError } from "../errors.ts";
import type { LifecycleManager } from "../jcli/index.ts";
import { answerJson, answerRefusal } from "./answer.ts";
import type { PeerInfo } from "./origin.ts";
import { refused } from "./refusals.ts";
import { readUnambiguousJson } from "./unambiguous-json.ts";
import type { Writing } from "./writers.ts";

/** The part of a lifecycle manager that the gateway shows and registers hooks with. */
export type GatewayLifecycle = Pick<LifecycleManager, "hooks" | "sessions" | "storedSessions">;

/** Where the hooks of a session are: its name, and an index in its list. */
const SESSION_HOOKS_PATH = "/v1/session-hooks/:session";

/** Who may register hooks, and the largest definition that is read, in bytes: a prompt, and what is around it. */
export const REGISTERED: Pick<Writing, "scopes" | "maxBodyBytes"> = { scopes: ["register"], maxBodyBytes: 262_144 };

/** Answers who may register hooks, with the body where there is one. */
export type Registering = (
  request: Request,
  info: PeerInfo,
  answer: (body: Uint8Array) => Response | Promise<Response>,
) => Promise<Response>;

/** Adds the paths at which the hooks of a session are listed, registered and removed. */
export function addSessionHookRoutes(
  app: Hono<{ Bindings: PeerInfo }>,
  lifecycle: GatewayLifecycle,
  registering: Registering,
): void {
  app.get(SESSION_HOOKS_PATH, ({ req, env }) =>
    registering(req.raw, env, () => listSessionHooks(lifecycle, req.param("session"))),
  );
  app.post(SESSION_HOOKS_PATH, ({ req, env }) =>
    registering(req.raw, env, (body) => registerSessionHook(lifecycle, req.param("session"), body)),
  );
  app.delete(`${SESSION_HOOKS_PATH}/:index?`, ({ req, env }) =>
    registering(req.raw, env, () => removeSessionHooks(lifecycle, req.param("session"), req.param("index"))),
  );
}

/** The hooks of one session, with their indices in it: those that its store has now, where it has one. */
function listSessionHooks(lifecycle: GatewayLifecycle, session: string): Promise<Response> {
  return answering(async () => {
    await lifecycle.storedSessions?.refresh(session);
    const hooks = lifecycle.hooks(session).filter(({ level }) => level === "session");
    return answerJson(
      { hooks: hooks.toSorted((a, b) => (a.session_index ?? 0) - (b.session_index ?? 0)) },
      { status: 200 },
    );
  });
}

/** Registers a hook that a body describes. */
async function registerSessionHook(lifecycle: GatewayLifecycle, session: string, body: Uint8Array): Promise<Response> {
  const read = readUnambiguousJson(body);
  if ("code" in read) return answerRefusal(read);
  return answering(async () => {
    const hooks = lifecycle.storedSessions ?? lifecycle.sessions;
    return answerJson({ session_index: await hooks.register(session, read.value) }, { status: 201 });
  });
}

/** Removes a session's hook, or all of them. */
function removeSessionHooks(
  lifecycle: GatewayLifecycle,
  session: string,
  index: string | undefined,
): Promise<Response> {
  return answering(async () => {
    const hooks = lifecycle.storedSessions ?? lifecycle.sessions;
    if (index === undefined) await hooks.end(session);
    else await hooks.remove(session, /^\d{1,6}$/.test(index) ? Number(index) : -1);
    return answerJson({ ok: true }, { status: 200 });
  });
}

async function answering(act: () => Promise<Response>): Promise<Response> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof HookgateError)) throw error;
    return answerRefusal({ ...refused(error), ...(error.code === "ERR_OVERLOADED" && { status: 409 }) });
  }
}
