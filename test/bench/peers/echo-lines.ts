// Answers every JSON-RPC line with its params as the result, as fast as plain Node code can.
let rest = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk: string) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop() ?? "";
  let out = "";
  for (const line of lines) {
    const { id, params } = JSON.parse(line) as { id?: number; params: unknown };
    if (id !== undefined) out += `${JSON.stringify({ jsonrpc: "2.0", id, result: params })}\n`;
  }
  if (out !== "") process.stdout.write(out);
});
