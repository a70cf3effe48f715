import type { ApprovalManager } from "../../approvals/index.ts";
import type { Refusal } from "../answer.ts";
import { isRefusal, mayAny, type Principal, type Scope } from "../auth.ts";
import type { PeerInfo } from "../origin.ts";
import { READER_SCOPES, type Readers } from "../readers.ts";
import { type KnownVisitor, toApprovalsLink } from "./approvals.ts";
import { STATUS_LINK, type Visitor } from "./layout.ts";
import { isOwnForm } from "./origin.ts";
import type { PageSessions } from "./sessions.ts";
import { answerNotice, type SignIn } from "./sign-in.ts";

/** Scopes with which one may look at approvals. */
export const APPROVAL_READER_SCOPES: readonly Scope[] = [...READER_SCOPES, "approve"];

/** Scopes with which one may decide approvals. */
const APPROVE_SCOPES: readonly Scope[] = ["approve"];

/** Parts of {@link PageGuard}. */
export interface PageGuardParts {
  /** Whether anyone needs a token. */
  readonly hasAuth: boolean;
  readonly readers: Pick<Readers, "find" | "admit">;
  readonly sessions: PageSessions;
  readonly signIn: SignIn;
  /** Absent where there is no page of approvals. */
  readonly approvals?: ApprovalManager | undefined;
}

/** A request, as the router has it. */
export interface Routed {
  readonly req: { readonly raw: Request; param(name: string): string | undefined };
  readonly env: PeerInfo;
}

/** Answers somebody who may see a page. */
export type ShowPage = (who: KnownVisitor, routed: Routed) => Promise<Response>;

/** Lets those see a page who may, and asks the others to sign in. */
export class PageGuard {
  readonly #parts: PageGuardParts;

  constructor(parts: PageGuardParts) {
    this.#parts = parts;
  }

  /** Guards a page that is looked at. */
  reading(scopes: readonly Scope[], show: ShowPage): (routed: Routed) => Promise<Response> {
    return async (routed) => {
      const { req, env: info } = routed;
      return this.#answer(await this.#parts.readers.find({ request: req.raw, info, scopes }), { routed, show });
    };
  }

  /**
   * Guards a form that decides. The cookie of one who signed in goes with every form that is sent here: where it was sent
   * from is looked at first.
   */
  deciding(show: ShowPage): (routed: Routed) => Promise<Response> {
    return async (routed) => {
      if (!isOwnForm(routed.req.raw)) return answerNotice(403, "This form was not sent by a page of this gateway.");
      return this.#answer(await this.#findDecider(routed), { routed, show });
    };
  }

  async #findDecider({ req: { raw: request }, env: info }: Routed): Promise<Principal | Refusal> {
    const { hasAuth, readers, sessions } = this.#parts;
    const asking = { request, info, scopes: APPROVE_SCOPES };
    const authorization = request.headers.get("authorization") ?? sessions.authorizationOf(request.headers);
    return hasAuth && authorization !== undefined ? readers.admit(authorization, asking) : readers.find(asking);
  }

  async #answer(
    found: Principal | Refusal,
    { routed, show }: { readonly routed: Routed; readonly show: ShowPage },
  ): Promise<Response> {
    const { hasAuth, signIn } = this.#parts;
    const { raw } = routed.req;
    if (!isRefusal(found)) return show({ principal: found, visitor: await this.#toVisitor(found, raw) }, routed);
    if (hasAuth && found.code === "ERR_UNAUTHORIZED") return signIn.ask(raw);
    return answerNotice(found.code === "ERR_FORBIDDEN" ? 403 : 400, `${found.message}.`);
  }

  async #toVisitor(principal: Principal, { headers }: Request): Promise<Visitor> {
    const { hasAuth, sessions, approvals } = this.#parts;
    const isSignedIn = hasAuth && !headers.has("authorization") && sessions.authorizationOf(headers) !== undefined;
    const pages = [
      ...(mayAny(principal, READER_SCOPES) ? [STATUS_LINK] : []),
      ...(approvals === undefined ? [] : [await toApprovalsLink(approvals)]),
    ];
    return { isSignedIn, pages, ...(hasAuth && { name: principal.name }) };
  }
}
