import type { RecorderStatus } from "../../records/index.ts";
import type { GatewayHook, Readiness } from "../pages.ts";
import { toCount, toState, type Tone } from "./format.ts";
import { html, type Markup, shown } from "./markup.ts";

const TONES: Readonly<Record<Readiness["status"], Tone>> = {
  ready: "good",
  degraded: "warn",
  not_ready: "bad",
  draining: "warn",
};

/** Whether the gateway is well, in a word. */
export function renderReadiness({ status }: Readiness): Markup {
  return html`<span id="readiness" data-part>${toState(status.replaceAll("_", " "), TONES[status])}</span>`;
}

/** What is wrong, and the counts of the whole gateway. */
export function renderState(readiness: Readiness, hooks: readonly GatewayHook[]): Markup {
  const notes = toNotes(readiness, hooks);
  const ready = hooks.filter(({ state }) => state === "ready").length;
  const sum = (count: (hook: GatewayHook) => number): string =>
    toCount(hooks.reduce((all, hook) => all + count(hook), 0));
  return html`<div id="state" data-part class="notes">
    ${notes}
    <dl class="facts">
      <div>
        <dt>Hooks ready</dt>
        <dd>${toCount(ready)} <small>of ${toCount(hooks.length)}</small></dd>
      </div>
      <div>
        <dt>Hook calls</dt>
        <dd>${sum(({ calls }) => calls)}</dd>
      </div>
      <div>
        <dt>Without a verdict</dt>
        <dd>${sum(({ no_verdicts: kinds }) => Object.values(kinds).reduce((all, count) => all + count, 0))}</dd>
      </div>
      <div>
        <dt>Failed open</dt>
        <dd>${sum(({ failed_open: count }) => count)}</dd>
      </div>
      ${renderRecords(readiness.records)}
    </dl>
  </div>`;
}

function renderRecords(records: RecorderStatus | undefined): Markup {
  if (records === undefined)
    return html`<div>
      <dt>Records</dt>
      <dd><small>not kept</small></dd>
    </div>`;
  const { sinks, dropped, waiting } = records;
  const written = sinks.reduce((most, sink) => Math.max(most, sink.written), 0);
  const lost = sinks.reduce((all, sink) => all + sink.lost, dropped);
  const left = sinks.reduce((all, sink) => all + sink.waiting, waiting);
  return html`<div>
      <dt>Records written</dt>
      <dd>${toCount(written)} <small>${left > 0 && `${toCount(left)} waiting`}</small></dd>
    </div>
    <div>
      <dt>Records lost</dt>
      <dd>${lost === 0 ? "0" : toState(toCount(lost), "bad")}</dd>
    </div>`;
}

function toNotes({ status, records, approvals }: Readiness, hooks: readonly GatewayHook[]): readonly Markup[] {
  const missing = hooks.filter(({ state, required }) => required === true && state !== "ready");
  return [
    ...(status === "draining" ? [html`<p class="note warn">The gateway is shutting down and takes no calls.</p>`] : []),
    ...missing.map(({ name }) => html`<p class="note bad">The required hook ${shown(name)} is not ready.</p>`),
    ...(approvals?.available === false
      ? [
          html`<p class="note bad">
            Approvals of people cannot be kept in ${shown(approvals.store)}: what needs one is denied.
          </p>`,
        ]
      : []),
    ...(records === undefined ? [] : toRecordNotes(records)),
  ];
}

function toRecordNotes({ degraded, dropped, sinks }: RecorderStatus): readonly Markup[] {
  const failing = sinks.filter(({ state }) => state === "failing");
  const lost = sinks.filter((sink) => sink.lost > 0);
  if (!degraded && lost.length === 0 && dropped === 0) return [];
  return [
    ...failing.map(
      ({ name, error = "no reason was given", waiting }) =>
        html`<p class="note bad">
          Records cannot be written to ${shown(name)}, ${toCount(waiting)} are waiting: ${shown(error)}
        </p>`,
    ),
    ...lost.map(
      (sink) =>
        html`<p class="note ${degraded ? "bad" : "warn"}">
          ${toCount(sink.lost)} records never reached ${shown(sink.name)}.
        </p>`,
    ),
    ...(dropped > 0
      ? [
          html`<p class="note warn">
            No record was made of ${toCount(dropped)} decisions: there were too many at once.
          </p>`,
        ]
      : []),
  ];
}
