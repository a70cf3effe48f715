/**
 * How pages look. Colours are those of the browser's scheme, dark or light; each that means something stands beside a word
 * or a sign that means the same.
 */
export const STYLE = `:root {
  color-scheme: light dark;
  --ground: #f6f7f9; --sheet: #fff; --sunk: #eef0f4; --line: #dde1e8; --text: #1b2330; --quiet: #5a6577;
  --accent: #1f5fbf; --good: #17703c; --good-ground: #e3f4e9; --warn: #8a5300; --warn-ground: #fdf0d8;
  --bad: #b0232a; --bad-ground: #fce7e7; --mark: #8a1f6d; --mark-ground: #fae3f3;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #11151b; --sheet: #181d25; --sunk: #212833; --line: #303946; --text: #e4e8ee; --quiet: #9ba7b8;
    --accent: #82b1ff; --good: #71d196; --good-ground: #17331f; --warn: #f0b95c; --warn-ground: #382a10;
    --bad: #ff8f8f; --bad-ground: #3d1a1d; --mark: #f29bd4; --mark-ground: #3b1a31;
  }
}
*, ::before, ::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; background: var(--ground); color: var(--text); overflow-wrap: anywhere;
  font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
a { color: var(--accent); text-underline-offset: 2px; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
h1, h2, h3, p, dl, dd, ol, ul, pre, table { margin: 0; padding: 0; }
h1 { font-size: 20px; line-height: 1.3; font-weight: 650; }
h2 { font-size: 15px; line-height: 1.4; font-weight: 650; }
h3 { font-size: 14px; font-weight: 600; }
code, pre, .code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 12.5px; }
.quiet { color: var(--quiet); }
.skip { position: absolute; left: 8px; top: -60px; padding: 8px 14px; background: var(--sheet); border: 1px solid var(--line); z-index: 1; }
.skip:focus { top: 8px; }
.bar { background: var(--sheet); border-bottom: 1px solid var(--line); }
.bar > div, main, footer { max-width: 1440px; margin: 0 auto; padding: 0 20px; }
.bar > div { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 20px; min-height: 48px; padding-top: 6px; padding-bottom: 6px; }
.brand { font-weight: 700; font-size: 15px; letter-spacing: -.01em; }
.bar nav { display: flex; gap: 4px; flex: 1; }
.bar nav a { padding: 5px 10px; border-radius: 6px; color: var(--quiet); text-decoration: none; }
.bar nav a:hover { color: var(--text); background: var(--sunk); }
.bar nav a[aria-current] { color: var(--text); background: var(--sunk); font-weight: 600; }
.who { display: flex; align-items: center; gap: 10px; }
main { padding-top: 22px; padding-bottom: 32px; display: grid; gap: 22px; grid-template-columns: minmax(0, 1fr); }
main > header { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 14px; }
main > header .quiet { margin-left: auto; }
footer { padding-bottom: 28px; color: var(--quiet); font-size: 13px; display: flex; flex-wrap: wrap; gap: 4px 18px; }
section, .sheet { background: var(--sheet); border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px; }
section > :first-child { margin-bottom: 10px; }
.head { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 12px; }
.head > :last-child:not(:first-child) { margin-left: auto; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(128px, 1fr)); gap: 1px; background: var(--line); border: 1px solid var(--line); border-radius: 10px; overflow: hidden; }
.facts > div { background: var(--sheet); padding: 10px 16px 11px; }
.facts dt, .list dt { color: var(--quiet); font-size: 12.5px; }
.facts dd { font-size: 20px; line-height: 1.35; font-weight: 600; font-variant-numeric: tabular-nums; letter-spacing: -.01em; }
.facts dd small { font-size: 12.5px; font-weight: 400; color: var(--quiet); letter-spacing: 0; }
.list { display: grid; grid-template-columns: repeat(auto-fill, minmax(210px, 1fr)); gap: 12px 20px; }
.list .wide { grid-column: 1 / -1; }
.state { display: inline-flex; align-items: center; gap: 5px; padding: 0 8px; border-radius: 99px; font-size: 12.5px; line-height: 20px; font-weight: 550; white-space: nowrap; vertical-align: top; background: var(--sunk); color: var(--quiet); }
.state::before { content: "\\25CB"; font-size: 10px; }
.good { background: var(--good-ground); color: var(--good); }
.good::before { content: "\\25CF"; }
.warn { background: var(--warn-ground); color: var(--warn); }
.warn::before { content: "\\25B2"; }
.bad { background: var(--bad-ground); color: var(--bad); }
.bad::before { content: "\\25A0"; }
.tag { display: inline-block; padding: 0 6px; border: 1px solid var(--line); border-radius: 5px; font-size: 12px; line-height: 18px; color: var(--quiet); white-space: nowrap; }
.mark { font: 11.5px/1.3 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; padding: 0 3px; margin: 0 1px; border: 1px dashed currentColor; border-radius: 3px; color: var(--mark); background: var(--mark-ground); white-space: nowrap; }
.note { padding: 9px 14px; border-radius: 8px; border: 1px solid currentColor; border-left-width: 5px; background: var(--sunk); color: var(--text); }
.note.bad, .note.warn { color: var(--text); }
.note.bad { border-color: var(--bad); background: var(--bad-ground); }
.note.warn { border-color: var(--warn); background: var(--warn-ground); }
.note.warn::before, .note.bad::before { font-size: 11px; margin-right: 8px; }
.note.warn::before { color: var(--warn); }
.note.bad::before { color: var(--bad); }
.notes { display: grid; gap: 8px; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: left; }
th, td { text-align: left; vertical-align: top; padding: 6px 14px 6px 0; border-top: 1px solid var(--line); }
th:last-child, td:last-child { padding-right: 0; }
thead th { border-top: 0; color: var(--quiet); font-size: 12.5px; font-weight: 500; vertical-align: bottom; white-space: nowrap; }
tbody th { font-weight: 600; }
tbody th.time, tbody th .quiet, tbody th .tag { font-weight: 400; }
tbody tr:hover { background: color-mix(in srgb, var(--sunk) 55%, transparent); }
.num { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.time { font-variant-numeric: tabular-nums; white-space: nowrap; }
.word { white-space: nowrap; }
.some { min-width: 11ch; }
tr.more > td { border-top: 0; padding-top: 0; color: var(--quiet); font-size: 13px; }
.kinds { font-size: 12.5px; color: var(--quiet); display: block; }
.points { display: flex; flex-wrap: wrap; gap: 3px; }
.empty { color: var(--quiet); padding: 8px 0; }
form.filter { display: flex; flex-wrap: wrap; gap: 10px 12px; align-items: end; margin-bottom: 12px; }
form.filter > div { flex: 1 1 150px; max-width: 260px; }
label { display: block; font-size: 12.5px; color: var(--quiet); margin-bottom: 2px; }
input, select, button, .button { font: inherit; color: inherit; min-height: 34px; padding: 4px 12px; border: 1px solid var(--quiet); border-radius: 7px; background: var(--sheet); }
input, select { width: 100%; padding: 4px 9px; }
button, .button { cursor: pointer; display: inline-flex; align-items: center; text-decoration: none; font-weight: 550; border-color: var(--line); background: var(--sunk); }
button:hover, .button:hover { border-color: var(--quiet); }
button.first { background: var(--accent); border-color: var(--accent); color: var(--sheet); }
button[aria-pressed="true"]::before { content: "\\25CF"; color: var(--good); margin-right: 6px; font-size: 11px; }
button[aria-pressed="false"]::before { content: "\\275A\\275A"; color: var(--quiet); margin-right: 6px; font-size: 10px; }
[hidden] { display: none !important; }
.pages { display: flex; gap: 10px; margin-top: 12px; }
.json { padding: 10px 12px; background: var(--sunk); border-radius: 7px; white-space: pre-wrap; max-height: 480px; overflow-y: auto; }
.json.whole { max-height: none; overflow-y: visible; font-size: 13.5px; line-height: 1.55; }
h1 .code { font-size: .92em; }
h3.code { font-size: 15px; }
.odd { list-style: none; display: grid; gap: 3px; grid-template-columns: minmax(0, 1fr); }
.odd::before { display: none; }
.odd li::before { content: "\\25B2"; color: var(--warn); font-size: 11px; margin-right: 8px; }
.bar nav .count { display: inline-block; min-width: 18px; padding: 0 5px; border-radius: 99px; background: var(--warn-ground); color: var(--warn); font-size: 12px; line-height: 18px; font-weight: 650; text-align: center; }
.asks { list-style: none; display: grid; gap: 14px; grid-template-columns: minmax(0, 1fr); }
.votes .tag, .steps .tag { white-space: normal; }
.ask { display: grid; gap: 8px; grid-template-columns: minmax(0, 1fr); padding: 14px 16px; border: 1px solid var(--line); border-left: 4px solid var(--warn); border-radius: 8px; }
.ask.gone { border-left-color: var(--line); color: var(--quiet); }
.left { color: var(--quiet); font-variant-numeric: tabular-nums; white-space: nowrap; }
.states { display: inline-flex; flex-wrap: wrap; flex: 1; align-items: center; gap: 6px 12px; }
.said { display: flex; flex-wrap: wrap; gap: 2px 16px; color: var(--quiet); }
.said strong { font-weight: 600; color: var(--text); }
.reason { font-size: 15px; }
.call { display: grid; gap: 8px; grid-template-columns: minmax(0, 1fr); }
.stack { display: grid; gap: 10px; grid-template-columns: minmax(0, 1fr); }
.stack > :first-child { margin-bottom: 0; }
.decide { display: grid; gap: 10px 14px; grid-template-columns: minmax(0, 1fr) 180px auto; align-items: end; }
.decide .note { grid-column: 1 / -1; }
.choose { display: flex; gap: 10px; }
.choose button { min-width: 96px; justify-content: center; }
textarea { font: inherit; color: inherit; width: 100%; min-height: 34px; padding: 5px 9px; border: 1px solid var(--quiet); border-radius: 7px; background: var(--sheet); resize: vertical; display: block; }
button.no { color: var(--bad); border-color: var(--bad); background: var(--sheet); }
button.no:hover { background: var(--bad-ground); border-color: var(--bad); }
button:disabled, select:disabled, textarea:disabled { cursor: default; color: var(--quiet); background: var(--sunk); border-color: var(--line); }
.comment { white-space: pre-wrap; }
.note > p + p { margin-top: 6px; }
.steps { list-style: none; position: relative; display: grid; gap: 0; }
.steps > li { position: relative; padding: 0 0 20px 26px; }
.steps > li::before { content: ""; position: absolute; left: 5px; top: 7px; width: 9px; height: 9px; border-radius: 50%; background: var(--sheet); border: 2px solid var(--quiet); }
.steps > li::after { content: ""; position: absolute; left: 9px; top: 20px; bottom: -5px; width: 1px; background: var(--line); }
.steps > li:last-child { padding-bottom: 0; }
.steps > li:last-child::after { display: none; }
.steps .head { margin-bottom: 4px; }
.steps .time { color: var(--quiet); }
.steps p, .steps table, .steps svg { margin-top: 6px; }
.length { display: block; width: 100%; height: 5px; }
.length .of { fill: var(--sunk); }
.length .is { fill: var(--accent); }
.patch td, .patch th { padding-top: 4px; padding-bottom: 4px; }
.patch .json { padding: 2px 8px; }
.sign-in { max-width: 420px; margin: 7vh auto 0; display: grid; gap: 14px; }
.sign-in form { display: grid; gap: 12px; }
@media (max-width: 1100px) {
  .wide-table, .wide-table tbody, .wide-table tr, .wide-table th, .wide-table td, .wide-table caption { display: block; }
  .wide-table thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
  .wide-table tr { padding: 10px 0; border-top: 1px solid var(--line); display: grid; grid-template-columns: repeat(auto-fill, minmax(132px, 1fr)); gap: 6px 14px; }
  .wide-table th, .wide-table td { border: 0; padding: 0; text-align: left; }
  .wide-table tbody th, .wide-table .all { grid-column: 1 / -1; }
  .wide-table [data-name]::before { content: attr(data-name); display: block; color: var(--quiet); font: 12px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
  .wide-table tr.more { border-top: 0; padding-top: 0; }
  .wide-table td:empty { display: none; }
}
@media (max-width: 560px) {
  .bar > div, main, footer { padding-left: 12px; padding-right: 12px; }
  section { padding: 12px; }
  form.filter > div { flex-basis: 100%; max-width: none; }
  main > header .quiet { margin-left: 0; }
  .wide-table tr { grid-template-columns: repeat(6, minmax(0, 1fr)); gap: 8px 10px; }
  .wide-table td { grid-column: span 3; }
  .wide-table td.num { grid-column: span 2; }
  .facts { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  input, select, button, .button, textarea { min-height: 40px; }
  .decide { grid-template-columns: minmax(0, 1fr); }
  .choose button { flex: 1; min-height: 46px; }
  .ask { padding: 12px; }
}
@media (forced-colors: active) { .state, .tag, .mark { border: 1px solid; } }
@media print { .bar nav, form, .pages { display: none; } }
`;
