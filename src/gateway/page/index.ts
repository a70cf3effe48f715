export { outcomeTone, toCount, toDuration, toState, toTime, type Tone } from "./format.ts";
export { answerPage, answerRedirect, NOBODY, PAGE_PATHS, type PageOptions, type Visitor } from "./layout.ts";
export { html, type Markup, type Piece, prettyJson, shown, shownShort } from "./markup.ts";
export { isOwnForm } from "./origin.ts";
export { APPROVALS_PATH } from "./approvals.ts";
export { addPages, PAGE_ROUTES, type PageParts } from "./routes.ts";
export { type AskedRequest, PageSessions, type PageSessionsOptions } from "./sessions.ts";
export { answerNotice, SignIn } from "./sign-in.ts";
