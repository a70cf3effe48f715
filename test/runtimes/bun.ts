import { report } from "./report.ts";

await report(console.log);
