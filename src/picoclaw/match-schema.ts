import * as z from "zod";
import type { HookMatch, MatchField } from "./match.ts";

function patterns(what: string): z.ZodExactOptional<z.ZodArray<z.ZodString>> {
  return z
    .array(z.string().regex(/^!?[^!]/, "a pattern must not be empty"))
    .min(1)
    .exactOptional()
    .describe(`Patterns for ${what}.`);
}

/** A match as a config file has it. */
export const matchSchema: z.ZodType<HookMatch> = z
  .strictObject({
    tool: patterns("the tool's name"),
    channel: patterns("the channel the user writes on"),
    agent: patterns("meta.AgentID"),
    model: patterns("the model's name"),
    session: patterns("meta.SessionKey"),
  } satisfies Record<MatchField, ReturnType<typeof patterns>>)
  .describe(
    'For which calls of its points the hook is made: every key that is there must match. "*" stands for any characters; a pattern with "!" in front excludes.',
  );
