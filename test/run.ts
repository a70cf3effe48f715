/**
 * `npm test`: every stage runs even where an earlier one failed, and the exit code is 1 if any failed.
 * @module
 */

import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import process from "node:process";

const stages = ["format:check", "lint", "typecheck", "test:vitest"] as const;

const failed = stages.filter((stage) => {
  console.log(`\n> ${stage}`);
  return (
    spawnSync("npm", ["run", "--silent", stage], { stdio: "inherit", shell: process.platform === "win32" }).status !== 0
  );
});

mkdirSync("dist", { recursive: true });
writeFileSync("dist/stages.json", JSON.stringify({ failed }));
console.log(failed.length === 0 ? "\nall stages passed" : `\nfailed: ${failed.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;
