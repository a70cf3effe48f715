import type { RecordFilter, RecordStore } from "../../records/index.ts";
import { outcomeTone, toCount, toDuration, toState, toTime } from "./format.ts";
import { html, type Markup, shown, shownShort } from "./markup.ts";
import { parseRecord, type RecordView } from "./record-view.ts";

/** Which decisions a page shows. */
export interface DecisionQuery extends Pick<RecordFilter, "session" | "tool" | "outcome"> {
  /** Where the page begins; undefined for the newest. */
  readonly cursor?: string | undefined;
}

/** What there is of the decisions a page asks for. */
export type DecisionList =
  | { readonly kind: "page"; readonly records: readonly (RecordView | undefined)[]; readonly next: string | undefined }
  /** Records are kept where they cannot be looked up, are not kept at all, or cannot be read just now. */
  | { readonly kind: "elsewhere" | "off" | "failed"; readonly why?: string | undefined };

const FIELDS = ["session", "tool", "outcome"] as const;
const MAX_FILTER_CHARS = 300;
const PAGE_RECORDS = 50;

/** The outcomes of decisions, as a form offers them. */
const OUTCOMES = [
  "continue",
  "modify",
  "respond",
  "approved",
  "deny_tool",
  "detached",
  "denied",
  "abort_turn",
  "hard_abort",
  "aborted",
] as const;

/** Reads what a page is asked for. Of a field that is empty, as a form sends it, nothing is asked. */
export function readDecisionQuery({ searchParams }: URL): DecisionQuery {
  const query: { -readonly [Name in keyof DecisionQuery]: DecisionQuery[Name] } = {};
  for (const name of FIELDS) {
    const value = searchParams.get(name)?.slice(0, MAX_FILTER_CHARS);
    if (value !== undefined && value !== "") query[name] = value;
  }
  const cursor = searchParams.get("cursor");
  return cursor !== null && /^\d{1,15}$/.test(cursor) ? { ...query, cursor } : query;
}

/** The address of a page of decisions. */
export function toDecisionsPath(path: string, query: DecisionQuery): string {
  const params = new URLSearchParams();
  for (const name of [...FIELDS, "cursor"] as const) {
    const value = query[name];
    if (value !== undefined) params.set(name, value);
  }
  return params.size === 0 ? path : `${path}?${params}`;
}

/** Looks decisions up. */
export async function findDecisions(store: RecordStore, query: DecisionQuery): Promise<DecisionList> {
  const { records, next } = await store.list({ ...query, maxRecords: PAGE_RECORDS });
  return { kind: "page", records: records.map(parseRecord), next };
}

/** The decisions that were made last, and a form that filters them. */
export function renderDecisions(list: DecisionList, query: DecisionQuery): Markup {
  return html`<section aria-labelledby="decisions-title">
    <h2 id="decisions-title">${query.cursor === undefined ? "Recent decisions" : "Earlier decisions"}</h2>
    ${list.kind === "page" ? renderFound(list, query) : renderNone(list)}
  </section>`;
}

const SWITCH_ON = `"records": { "sqlite": { "path": "records.db" } }`;

function renderNone({ kind, why }: Exclude<DecisionList, { kind: "page" }>): Markup {
  if (why !== undefined) return html`<p class="empty">${shown(why)}</p>`;
  if (kind === "failed") {
    return html`<p class="note bad">The records cannot be read just now; the log says why. Decisions go on.</p>`;
  }
  if (kind === "elsewhere") {
    return html`<p class="empty">
      Decisions are recorded where they cannot be looked up from here. On Node, add
      <code>"sqlite": { "path": "records.db" }</code> to <code>records</code> in the config to see them.
    </p>`;
  }
  return html`<p class="empty">
    Decisions are not recorded. To see them here, put <code>${SWITCH_ON}</code> into the config of a gateway on Node and
    start it again.
  </p>`;
}

function renderFound({ records, next }: DecisionList & { kind: "page" }, query: DecisionQuery): Markup {
  const isFiltered = FIELDS.some((name) => query[name] !== undefined);
  const table = html`<table class="wide-table">
    <caption class="quiet">
      Newest first.
    </caption>
    <thead>
      <tr>
        <th scope="col">Time (UTC)</th>
        <th scope="col">Point</th>
        <th scope="col">Tool</th>
        <th scope="col">Outcome</th>
        <th scope="col">Reason</th>
        <th scope="col">Session</th>
        <th scope="col">Caller</th>
        <th scope="col" class="num">Hooks</th>
        <th scope="col" class="num">Took</th>
      </tr>
    </thead>
    <tbody>
      ${records.map(renderRow)}
    </tbody>
  </table>`;
  return html`${renderForm(query, isFiltered)}
    <div id="decisions" data-part>
      ${records.length > 0 ? table : html`<p class="empty">${isFiltered ? "No decision is like that." : "No decision was made yet."}</p>`}
      ${renderPager(query, next)}
    </div>`;
}

function renderForm({ session = "", tool = "", outcome = "" }: DecisionQuery, isFiltered: boolean): Markup {
  const isOther = outcome !== "" && !OUTCOMES.some((known) => known === outcome);
  const names = isOther ? [...OUTCOMES, outcome] : OUTCOMES;
  const options = names.map((name) =>
    name === outcome
      ? html`<option value="${name}" selected>${name}</option>`
      : html`<option value="${name}">${name}</option>`,
  );
  return html`<form class="filter" method="get" action="/" role="search" aria-label="Filter decisions">
    <div>
      <label for="session">Session</label
      ><input id="session" name="session" value="${session}" maxlength="300" autocomplete="off" spellcheck="false" />
    </div>
    <div>
      <label for="tool">Tool</label
      ><input id="tool" name="tool" value="${tool}" maxlength="300" autocomplete="off" spellcheck="false" />
    </div>
    <div>
      <label for="outcome">Outcome</label
      ><select id="outcome" name="outcome">
        <option value="">any</option>
        ${options}
      </select>
    </div>
    <button class="first">Filter</button>${isFiltered && html`<a class="button" href="/">Clear</a>`}
  </form>`;
}

function renderRow(record: RecordView | undefined): Markup {
  if (record === undefined)
    return html`<tr>
      <td colspan="9" class="all quiet">A record that cannot be read.</td>
    </tr>`;
  const { id, time, point, tool, action, reason, session, caller, hooks, ms } = record;
  const failedOpen = hooks.filter(({ failed_open: isOpen }) => isOpen === true).length;
  return html`<tr>
    <th scope="row" class="time"><a href="${toDecisionPath(id)}">${toTime(time, { isExact: true })}</a></th>
    <td data-name="Point" class="word">${shown(point)}</td>
    <td data-name="Tool" class="code some">${tool !== undefined && shownShort(tool, 80)}</td>
    <td data-name="Outcome">${toState(shown(action), outcomeTone(action))}</td>
    <td data-name="Reason" class="all">${reason !== "" && shownShort(reason)}</td>
    <td data-name="Session" class="some">${session !== undefined && shownShort(session, 60)}</td>
    <td data-name="Caller" class="some">${caller !== undefined && shownShort(caller, 60)}</td>
    <td data-name="Hooks" class="num">
      ${toCount(hooks.length)}${
        failedOpen > 0 && html`<span class="kinds">${toState(`${toCount(failedOpen)} failed open`, "warn")}</span>`
      }
    </td>
    <td data-name="Took" class="num">${toDuration(ms)}</td>
  </tr>`;
}

function renderPager(query: DecisionQuery, next: string | undefined): Markup {
  if (query.cursor === undefined && next === undefined) return html``;
  const { cursor: _, ...newest } = query;
  return html`<nav class="pages" aria-label="Pages of decisions">
    ${query.cursor !== undefined && html`<a class="button" href="${toDecisionsPath("/", newest)}">Newest</a>`}
    ${next !== undefined && html`<a class="button" rel="next" href="${toDecisionsPath("/", { ...query, cursor: next })}">Earlier</a>`}
  </nav>`;
}

/** The address of one decision. */
export function toDecisionPath(id: string): string {
  return `/decisions/${toSegment(id)}`;
}

/** A text as a part of a path. Half of a surrogate pair cannot be in an address. */
export function toSegment(text: string): string {
  return encodeURIComponent(text.replaceAll(/\p{Cs}/gu, "\ufffd"));
}
