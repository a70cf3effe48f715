import process from "node:process";
import { benchApprovals } from "./approvals.ts";
import { benchChain } from "./chain.ts";
import { benchJcli } from "./jcli.ts";
import { benchEndToEnd } from "./end-to-end.ts";
import { benchGateway } from "./gateway.ts";
import { benchHttp } from "./http.ts";
import { benchPolicy } from "./policy.ts";
import { benchRecords } from "./records.ts";
import { type BenchReport, formatReport } from "./report.ts";
import { benchStdio } from "./stdio.ts";
import { benchWorker } from "./worker.ts";

/** Every comparison by name; each is made in one run with its peers. */
const benches: Readonly<Record<string, () => Promise<readonly BenchReport[]>>> = {
  chain: benchChain,
  jcli: benchJcli,
  stdio: benchStdio,
  worker: benchWorker,
  http: benchHttp,
  "end-to-end": benchEndToEnd,
  gateway: benchGateway,
  policy: benchPolicy,
  records: benchRecords,
  approvals: benchApprovals,
};

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !Object.hasOwn(benches, name));
if (unknown.length > 0) {
  console.error(`unknown bench: ${unknown.join(", ")}; expected ${Object.keys(benches).join(", ")}`);
  process.exit(1);
}
for (const [name, bench] of Object.entries(benches)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  for (const report of await bench()) console.log(`${formatReport(report)}\n`);
}
