import type { ListedHook } from "../../jcli/index.ts";
import type { GatewayHook } from "../pages.ts";
import { toCount, toDuration, toState, toTime, type Tone } from "./format.ts";
import { html, type Markup, shown, shownShort } from "./markup.ts";

const STATE_TONES: Readonly<Record<GatewayHook["state"], Tone>> = {
  starting: "plain",
  ready: "good",
  backing_off: "warn",
  failed: "bad",
  closed: "plain",
};

const LATENCY_HEADS = html`<th scope="col" class="num">p50</th>
  <th scope="col" class="num">p95</th>
  <th scope="col" class="num">p99</th>`;

function renderLatency(latency: GatewayHook["latency_ms"]): Markup {
  return html`<td data-name="p50" class="num">${toDuration(latency?.p50)}</td>
    <td data-name="p95" class="num">${toDuration(latency?.p95)}</td>
    <td data-name="p99" class="num">${toDuration(latency?.p99)}</td>`;
}

/** The hooks of the points, each with what its calls came to. */
export function renderHooks(hooks: readonly GatewayHook[]): Markup {
  const table = html`<table class="wide-table">
    <caption class="quiet">
      In the order they are called. Latency is of calls that were made, off by at most 3.2%.
    </caption>
    <thead>
      <tr>
        <th scope="col">Hook</th>
        <th scope="col">State</th>
        <th scope="col">Points</th>
        <th scope="col">Last fired (UTC)</th>
        <th scope="col" class="num">Calls</th>
        <th scope="col" class="num">Verdicts</th>
        <th scope="col" class="num">No verdict</th>
        <th scope="col" class="num">Failed open</th>
        ${LATENCY_HEADS}
      </tr>
    </thead>
    <tbody>
      ${hooks.map(renderHook)}
    </tbody>
  </table>`;
  return html`<section aria-labelledby="hooks-title" id="hooks" data-part>
    <h2 id="hooks-title">Hooks</h2>
    ${hooks.length === 0 ? html`<p class="empty">No hook is mounted: every call is allowed.</p>` : table}
  </section>`;
}

function renderHook(hook: GatewayHook): Markup {
  const { name, source, points, calls, verdicts, latency_ms: latency, last_fired: lastFired, observes } = hook;
  const names = observes ? [...points, "events"] : points;
  return html`<tr>
      <th scope="row">${shown(name)} ${renderTags(hook)}<br /><span class="quiet">${shown(source)}</span></th>
      <td data-name="State">${renderState(hook)}</td>
      <td data-name="Points">
        <span class="points">${names.map((point) => html`<span class="tag">${point}</span>`)}</span>
      </td>
      <td data-name="Last fired (UTC)" class="time">${toTime(lastFired)}</td>
      <td data-name="Calls" class="num">${toCount(calls)}${renderSkipped(hook)}</td>
      <td data-name="Verdicts" class="num">${toCount(verdicts)}</td>
      <td data-name="No verdict" class="num">${renderKinds(hook)}</td>
      <td data-name="Failed open" class="num">${renderFailedOpen(hook)}</td>
      ${renderLatency(latency)}
    </tr>
    ${renderErrors(hook)}`;
}

function renderTags({ mode, required, concurrency }: GatewayHook): Markup {
  return html`${required === true && html`<span class="tag">required</span> `}${
    mode === "audit" && html`<span class="tag">audit: not applied</span> `
  }${
    concurrency !== undefined &&
    html`<span class="tag">${concurrency.running} of ${concurrency.max} running, ${concurrency.waiting} waiting</span>`
  }`;
}

function renderState({ state, ...hook }: GatewayHook): Markup {
  const circuit: unknown = Reflect.get(hook, "circuitOpen");
  const word =
    typeof circuit === "boolean" &&
    (circuit ? toState("circuit open", "bad") : html`<span class="tag">circuit closed</span>`);
  return html`${toState(state.replaceAll("_", " "), STATE_TONES[state])} ${word}`;
}

function renderSkipped({ skipped, cached }: GatewayHook): Markup {
  return html`${skipped > 0 && html`<span class="kinds">${toCount(skipped)} not matched</span>`}${
    cached > 0 && html`<span class="kinds">${toCount(cached)} from cache</span>`
  }`;
}

function renderKinds({ no_verdicts: kinds }: GatewayHook): Markup {
  const entries = Object.entries(kinds);
  const total = entries.reduce((sum, [, count]) => sum + count, 0);
  return html`${toCount(total)}${entries.map(
    ([kind, count]) => html`<span class="kinds">${toCount(count)} ${kind}</span>`,
  )}`;
}

function renderFailedOpen({ failed_open: count }: GatewayHook): Markup {
  return count === 0 ? html`0` : toState(toCount(count), "warn");
}

/** What went wrong last, in a row of its own: it is a sentence, not a number. */
function renderErrors({ lastError, last_no_verdict: last }: GatewayHook): Markup {
  if (lastError === undefined && last === undefined) return html``;
  const state = lastError !== undefined && html`Not ready: ${shownShort(lastError, 300)}`;
  const verdict =
    last !== undefined &&
    html`Last no-verdict: <span class="code">${last.kind}</span> at ${last.point},
      ${toTime(last.time)}${last.error !== undefined && html`: ${shownShort(last.error, 300)}`}`;
  return html`<tr class="more">
    <td colspan="11" class="all">${state}${state !== false && verdict !== false && html`<br />`}${verdict}</td>
  </tr>`;
}

/** The hooks of `hooks.yaml`, where there are some. */
export function renderYamlHooks(hooks: readonly ListedHook[] | undefined): Markup {
  if (hooks === undefined) return html``;
  const table = html`<table class="wide-table">
    <caption class="quiet">
      Each retry counts as a run.
    </caption>
    <thead>
      <tr>
        <th scope="col">Hook</th>
        <th scope="col">Event</th>
        <th scope="col">Level</th>
        <th scope="col">Last fired (UTC)</th>
        <th scope="col" class="num">Runs</th>
        <th scope="col" class="num">Succeeded</th>
        <th scope="col" class="num">Failed</th>
        <th scope="col" class="num">Filtered out</th>
        ${LATENCY_HEADS}
      </tr>
    </thead>
    <tbody>
      ${hooks.map(renderYamlHook)}
    </tbody>
  </table>`;
  return html`<section aria-labelledby="yaml-title" id="yaml-hooks" data-part>
    <h2 id="yaml-title">Hooks of hooks.yaml</h2>
    ${hooks.length === 0 ? html`<p class="empty">No hook of a hooks.yaml is loaded.</p>` : table}
  </section>`;
}

function renderYamlHook({ event, level, type, label, metrics, ...hook }: ListedHook): Markup {
  const { executions, successes, failures, skipped } = metrics;
  const { last_error: lastError, last_fired: lastFired, latency_ms: latency } = hook;
  const error = html`<tr class="more">
    <td colspan="11" class="all">Last error: ${shownShort(lastError ?? "", 300)}</td>
  </tr>`;
  return html`<tr>
      <th scope="row"><span class="code">${shown(label)}</span> <span class="tag">${type}</span></th>
      <td data-name="Event">${event}</td>
      <td data-name="Level">${level}</td>
      <td data-name="Last fired (UTC)" class="time">${toTime(lastFired)}</td>
      <td data-name="Runs" class="num">${toCount(executions)}</td>
      <td data-name="Succeeded" class="num">${toCount(successes)}</td>
      <td data-name="Failed" class="num">${failures === 0 ? "0" : toState(toCount(failures), "warn")}</td>
      <td data-name="Filtered out" class="num">${toCount(skipped)}</td>
      ${renderLatency(latency)}
    </tr>
    ${lastError !== undefined && error}`;
}
