import type { Hono } from "hono";
import { HookgateError } from "../errors.ts";
import type { LifecycleManager } from "../jcli/index.ts";
import { answerJson, answerRefusal, type Refusal } from "./answer.ts";
import { decodeUtf8 } from "./body.ts";
import type { PeerInfo } from "./origin.ts";

/** The part of a lifecycle manager that the gateway shows and registers hooks with. */
export type GatewayLifecycle = Pick<LifecycleManager, "hooks" | "sessions">;

/** Where the hooks of a session are: its name, and an index in its list. */
const SESSION_HOOKS_PATH = "/v1/session-hooks/:session";

/** The largest definition that is read, in bytes: a prompt, and what is around it. */
export const MAX_DEFINITION_BYTES = 262_144;

/** Answers who may register hooks, with the body where there is one. */
export type Registering = (
  request: Request,
  info: PeerInfo,
  answer: (body: Uint8Array) => Response,
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

/** The hooks of one session, with their indices in it. */
function listSessionHooks(lifecycle: GatewayLifecycle, session: string): Response {
  const hooks = lifecycle.hooks(session).filter(({ level }) => level === "session");
  return answerJson(
    { hooks: hooks.toSorted((a, b) => (a.session_index ?? 0) - (b.session_index ?? 0)) },
    { status: 200 },
  );
}

/** Registers a hook that a body describes. */
function registerSessionHook({ sessions }: GatewayLifecycle, session: string, body: Uint8Array): Response {
  const text = decodeUtf8(body);
  let value: unknown;
  try {
    value = JSON.parse(text ?? "");
  } catch {
    return answerRefusal({ code: "ERR_PARSE", message: "the body is not JSON in UTF-8" });
  }
  return answering(() => answerJson({ session_index: sessions.register(session, value) }, { status: 201 }));
}

/** Removes a session's hook, or all of them. */
function removeSessionHooks({ sessions }: GatewayLifecycle, session: string, index: string | undefined): Response {
  return answering(() => {
    if (index === undefined) sessions.end(session);
    else sessions.remove(session, /^\d{1,6}$/.test(index) ? Number(index) : -1);
    return answerJson({ ok: true }, { status: 200 });
  });
}

function answering(act: () => Response): Response {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof HookgateError)) throw error;
    const refusal: Refusal = { code: error.code, message: error.message };
    return answerRefusal(error.code === "ERR_OVERLOADED" ? { ...refusal, status: 409 } : refusal);
  }
}
