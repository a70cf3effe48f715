/**
 * A hook process that brings a tool along: it adds `roll_dice` to what the model may call, and answers the call itself.
 * It also keeps secrets out of notes by rewriting the argument of `save_note`.
 *
 * In your own project: import { defineHook, serveStdio } from "hookgate/node".
 */
import { defineHook, serveStdio, type ToolDefinition } from "../adapters/node/index.ts";

const rollDice: ToolDefinition = {
  type: "function",
  function: {
    name: "roll_dice",
    description: "Rolls one die and says what it shows.",
    parameters: {
      type: "object",
      properties: { sides: { type: "integer", minimum: 2, maximum: 1000 } },
      required: ["sides"],
    },
  },
};

const SECRET = /\b(?:sk|ghp|xoxb)[-_][A-Za-z0-9_-]{8,}/g;

const hook = defineHook({
  beforeLlm(request) {
    const tools = request.tools ?? [];
    if (tools.some((tool) => tool.function.name === "roll_dice")) return undefined;
    return { action: "modify", request: { tools: [...tools, rollDice] } };
  },

  beforeTool(call, { log }) {
    if (call.tool === "roll_dice") {
      const sides = Number(call.arguments?.["sides"]);
      if (!Number.isInteger(sides) || sides < 2 || sides > 1000) {
        return { action: "respond", result: { for_llm: "sides must be an integer from 2 to 1000", is_error: true } };
      }
      const shown = 1 + Math.floor(Math.random() * sides);
      return { action: "respond", result: { for_llm: `The die shows ${shown}.` } };
    }
    const text = call.arguments?.["text"];
    if (call.tool === "save_note" && typeof text === "string" && text.search(SECRET) >= 0) {
      log.info("kept a secret out of a note");
      return { action: "modify", call: { arguments: { ...call.arguments, text: text.replace(SECRET, "[secret]") } } };
    }
    return undefined;
  },
});

await serveStdio(hook, { name: "plugin-tool" });
