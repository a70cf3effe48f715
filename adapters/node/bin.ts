#!/usr/bin/env node
import process from "node:process";
import { runCli } from "../../src/cli/index.ts";
import { createNodeCliHost } from "./cli-host.ts";

process.exitCode = await runCli(process.argv.slice(2), await createNodeCliHost());
