import { toConfigJsonSchema } from "../config/index.ts";
import { type Command, EXIT } from "./command.ts";

/** `hookgate schema`: the JSON Schema of config files. */
export const schema: Command = {
  name: "schema",
  summary: "Prints the JSON Schema of a config file.",
  usage: "schema",
  details: ['Editors complete and check a config file whose "$schema" names the schema.'],
  options: {},
  maxPositionals: 0,
  examples: [{ line: "hookgate schema > hooks.schema.json", help: 'to name in "$schema" of hooks.json' }],
  exitCodes: { 0: "always" },
  async run(_args, { stdout }) {
    stdout.write(`${JSON.stringify(toConfigJsonSchema(), null, 2)}\n`);
    return EXIT.ok;
  },
};

/** `hookgate version`. */
export const version: Command = {
  name: "version",
  summary: "Prints the version.",
  usage: "version",
  details: [],
  options: {},
  maxPositionals: 0,
  examples: [{ line: "hookgate version", help: "" }],
  exitCodes: { 0: "always" },
  async run(_args, host) {
    host.stdout.write(`${host.version}\n`);
    return EXIT.ok;
  },
};
