import { toDecisionsPath, toSegment } from "./decisions.ts";
import { outcomeTone, toDuration, toState, toTime } from "./format.ts";
import { html, type Markup, prettyJson, shown } from "./markup.ts";
import type { EntryView, RecordView } from "./record-view.ts";

/** One decision: what was asked, what came of it, and what each hook did, in the order they were called. */
export function renderDecision(record: RecordView): Markup {
  const { id, action, reason, point, tool, time } = record;
  return html`<header>
      <h1>${shown(tool ?? point)}</h1>
      ${toState(shown(action), outcomeTone(action))}
      <span class="quiet">${toTime(time, { isExact: true })} UTC</span>
    </header>
    ${reason !== "" && html`<p class="note">${shown(reason)}</p>`} ${renderFacts(record)} ${renderChain(record)}
    ${renderInput(record)}
    <footer><a href="/v1/records/${toSegment(id)}">This record as JSON</a></footer>`;
}

function renderFacts(record: RecordView): Markup {
  const {
    id,
    point,
    tool,
    session,
    caller,
    tool_call_id: callId,
    trace_id: traceId,
    ms,
    generation,
    seq,
    lost,
  } = record;
  const facts: readonly (readonly [name: string, value: Markup | string | undefined])[] = [
    ["Point", shown(point)],
    ["Tool", tool === undefined ? undefined : toLink({ tool }, tool)],
    ["Session", session === undefined ? undefined : toLink({ session }, session)],
    ["Caller", caller === undefined ? undefined : shown(caller)],
    ["Tool call", callId === undefined ? undefined : shown(callId)],
    ["Took", toDuration(ms)],
    ["Configuration", `generation ${generation}`],
    ["Place in the chain", seq === undefined ? undefined : `record ${seq}`],
    ["Lost before it", lost === undefined ? undefined : toState(`${lost} records`, "bad")],
    ["Id", html`<span class="code">${shown(id)}</span>`],
    ["Trace", html`<span class="code">${shown(traceId)}</span>`],
    ["SHA-256 of the payload", html`<span class="code">${shown(record.input_sha256)}</span>`],
  ];
  const given = facts.filter(([, value]) => value !== undefined);
  return html`<section aria-labelledby="facts-title">
    <h2 id="facts-title">Decision</h2>
    <dl class="list">
      ${given.map(
        ([name, value]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>`,
      )}
    </dl>
  </section>`;
}

function toLink(query: { readonly tool?: string; readonly session?: string }, text: string): Markup {
  return html`<a href="${toDecisionsPath("/", query)}">${shown(text)}</a>`;
}

function renderChain({ hooks, ms, hooks_truncated: isTruncated }: RecordView): Markup {
  const steps = html`<ol class="steps">
    ${hooks.map((entry) => renderEntry(entry, ms))}
  </ol>`;
  return html`<section aria-labelledby="chain-title">
    <h2 id="chain-title">What each hook did</h2>
    ${hooks.length === 0 ? html`<p class="empty">No hook was called.</p>` : steps}
    ${isTruncated === true && html`<p class="note warn">More hooks were called than a record lists.</p>`}
  </section>`;
}

function renderEntry(entry: EntryView, totalMs: number): Markup {
  const { hook, source, outcome, kind, error, ms, attempt, would } = entry;
  const called =
    attempt === 0 ? "not called" : attempt === 1 ? toDuration(ms) : `${toDuration(ms)}, attempt ${attempt}`;
  return html`<li>
    <div class="head">
      <h3>${shown(hook)}</h3>
      ${toState(shown(outcome.replaceAll("_", " ")), outcomeTone(outcome))}
      ${kind !== undefined && html`<span class="tag code">${shown(kind)}</span>`}
      ${entry.failed_open === true && toState("failed open", "warn")}
      ${entry.cached === true && html`<span class="tag">from cache</span>`} <span class="quiet">${shown(source)}</span>
      <span class="time">${called}</span>
    </div>
    ${attempt > 0 && renderLength(ms, totalMs)} ${error !== undefined && html`<p>${shown(error)}</p>`}
    ${would !== undefined && html`<p>Only audited. It would have done: <strong>${shown(would)}</strong></p>`}
    ${renderChanges(entry)}
  </li>`;
}

/** A line as long as the call's part of the decision's time; the number beside it says the same. */
function renderLength(ms: number, totalMs: number): Markup {
  const percent = totalMs > 0 ? Math.min(100, Math.max(0.5, (ms / totalMs) * 100)) : 0;
  return html`<svg class="length" aria-hidden="true">
    <rect class="of" width="100%" height="100%" rx="2" />
    <rect class="is" width="${percent.toFixed(1)}%" height="100%" rx="2" />
  </svg>`;
}

function renderChanges({ changes, changes_truncated: isTruncated }: EntryView): Markup {
  if (changes === undefined) return html``;
  const rows = changes.map(
    ({ op, path, value }) =>
      html`<tr>
        <td>${shown(op)}</td>
        <th scope="row" class="code">${path === "" ? "the whole" : shown(path)}</th>
        <td>
          ${value === undefined ? html`<span class="quiet">${op === "remove" ? "" : "not recorded"}</span>` : prettyJson(value)}
        </td>
      </tr>`,
  );
  return html`<table class="patch">
      <caption class="quiet">
        What it changed
      </caption>
      <thead>
        <tr>
          <th scope="col">Step</th>
          <th scope="col">Place</th>
          <th scope="col">Value</th>
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
    ${isTruncated === true && html`<p class="quiet">It changed more than a record holds.</p>`}`;
}

function renderInput({ input, input_truncated: isTruncated, meta }: RecordView): Markup {
  const none =
    isTruncated === true
      ? "The payload was too long to be recorded."
      : "Payloads are not recorded, only their hash; records.record.payload in the config says so.";
  const whole = html`<h2 id="input-title">Payload, as the first hook saw it</h2>
    ${input === undefined ? html`<p class="empty">${none}</p>` : prettyJson(input)}`;
  const about = html`<section aria-labelledby="meta-title">
    <h2 id="meta-title">About the turn</h2>
    ${prettyJson(meta)}
  </section>`;
  return html`<section aria-labelledby="input-title">${whole}</section>
    ${meta !== undefined && input === undefined && about}`;
}
