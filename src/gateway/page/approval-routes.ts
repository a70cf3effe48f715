import type { Hono } from "hono";
import type { ApprovalLinks } from "../../signing/approval-link.ts";
import type { PeerInfo } from "../origin.ts";
import type { Refusal } from "../answer.ts";
import { ApprovalLinkPages } from "./approval-links.ts";
import { ApprovalPages, type ApprovalPagesParts, APPROVALS_PATH } from "./approvals.ts";
import { APPROVAL_READER_SCOPES, type PageGuard } from "./guard.ts";
import { answerNotice } from "./sign-in.ts";

/** Parts of {@link addApprovalPages}. */
export interface ApprovalRouteParts extends ApprovalPagesParts {
  readonly guard: PageGuard;
  /** Signs links that decide; absent where there are none. */
  readonly links?: ApprovalLinks | undefined;
  /** Why nobody may come this way with a link; undefined when they may. */
  readonly refuse: (request: Request, info: PeerInfo) => Refusal | undefined;
}

/** Adds the pages where people decide approvals, and those that links lead to. */
export function addApprovalPages(app: Hono<{ Bindings: PeerInfo }>, parts: ApprovalRouteParts): void {
  const { guard, approvals, links, log } = parts;
  const pages = new ApprovalPages(parts);
  app.get(
    APPROVALS_PATH,
    guard.reading(APPROVAL_READER_SCOPES, (who, { req }) => pages.list(req.raw, who)),
  );
  app.get(
    `${APPROVALS_PATH}/:id`,
    guard.reading(APPROVAL_READER_SCOPES, (who, { req }) => pages.one(req.param("id") ?? "", who)),
  );
  app.post(
    `${APPROVALS_PATH}/:id`,
    guard.deciding((who, { req, env: info }) => pages.decide(req.param("id") ?? "", req.raw, { ...who, info })),
  );
  const linked = links && new ApprovalLinkPages({ approvals, links, log });
  app.on(["GET", "POST"], `${APPROVALS_PATH}/link/:token`, ({ req, env }) => {
    const refusal = parts.refuse(withoutOrigin(req.raw), env);
    if (refusal !== undefined) return answerNotice(403, `${refusal.message}.`, { back: false });
    if (linked === undefined) return answerNotice(404, "This gateway makes no links that decide.", { back: false });
    const token = req.param("token");
    return req.method === "POST" ? linked.decide(token, req.raw, env) : linked.show(token);
  });
}

/** A link's page looks itself at where its form comes from. */
function withoutOrigin({ url, headers }: Request): Request {
  const others = new Headers(headers);
  others.delete("origin");
  return new Request(url, { headers: others });
}
