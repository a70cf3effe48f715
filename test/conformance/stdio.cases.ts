import { HookCallError, isHookCallError } from "../../src/errors.ts";
import { equal, ok } from "./case.ts";
import { casesOf } from "./fixture.ts";
import { connect, MemoryScope, result } from "./memory-stdio.ts";

const SOURCE = "PicoClaw hook protocol, Wire, stdio";

/** The kind of no-verdict a call ends with, and its message. */
async function failure(call: Promise<unknown>): Promise<string> {
  try {
    return `no failure, but ${JSON.stringify(await call)}`;
  } catch (error) {
    return isHookCallError(error) ? `${error.kind}: ${error.message}` : String(error);
  }
}

/** Has the hook write lines of which only the last is a reply, and gives the reasons why the others were dropped. */
async function dropped(...lines: readonly (string | Uint8Array)[]): Promise<readonly string[]> {
  const { pipes, log, call } = connect();
  const reply = call();
  await pipes.nextWrite();
  pipes.say(...lines, result(1, { action: "continue" }));
  equal(await reply, { action: "continue" });
  return log.reasons;
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** How a hook's replies are read; each row of the table is a case. */
export const stdioReplyCases = casesOf(
  { topic: "stdio-replies", source: SOURCE },
  {
    "what-is-not-one-json-object-a-line-is-dropped-and-reading-goes-on": async () => {
      const lines = [
        "starting up…",
        "",
        "  ",
        "[]",
        `[${result(1)}]`,
        `${result(1)}${result(1)}`,
        "1",
        "null",
        "{prose}",
      ];
      const reasons = "not_object blank_line blank_line not_object not_object not_json not_object not_object not_json";
      equal(await dropped(...lines), reasons.split(" "));
    },
    "an-id-that-is-not-a-positive-integer-is-never-matched": async () => {
      const ids = ["1", 1.5, -1, 0, null, [1], true];
      equal(await dropped(...ids.map((id) => result(id)), '{"result":{}}', '{"error":{}}'), Array(9).fill("bad_id"));
    },
    "what-the-hook-asks-for-is-dropped": async () => {
      const asked = ['{"method":"sampling"}', '{"method":"x","id":"a"}', '{"method":"x","id":7}'];
      equal(await dropped(...asked), ["request", "request", "unknown_id"]);
    },
    "an-id-nobody-asked-for-is-dropped": async () => {
      equal(await dropped(result(2), result(99)), ["unknown_id", "unknown_id"]);
    },
    "the-first-reply-of-an-id-wins": async () => {
      const { pipes, log, call } = connect();
      const reply = call();
      pipes.say(result(1, { n: 1 }), result(1, { n: 2 }));
      equal(await reply, { n: 1 });
      const next = call();
      pipes.say(result(2));
      await next;
      equal(log.reasons, ["late_or_duplicate"]);
    },
    "a-reply-after-the-call-was-cut-is-harmless": async () => {
      const { pipes, log, call } = connect();
      const scope = new MemoryScope();
      void call("{}", scope);
      scope.cut();
      const next = call();
      pipes.say(result(1, { late: true }), result(2, { late: false }));
      equal(await next, { late: false });
      equal(log.reasons, ["late_or_duplicate"]);
    },
    "jsonrpc-may-be-missing-or-another-version": async () => {
      const { pipes, call } = connect();
      const replies = [call(), call()];
      pipes.say('{"id":1,"result":{"a":1}}', '{"jsonrpc":"1.0","id":2,"result":{"a":2}}');
      equal(await Promise.all(replies), [{ a: 1 }, { a: 2 }]);
    },
    "an-error-object-is-no-verdict-with-the-hooks-message": async () => {
      const errors = ['{"code":-1,"message":"out of order"}', "{}", '{"message":""}', '{"message":7}'];
      const { pipes, call } = connect();
      const replies = errors.map(() => failure(call()));
      for (const [index, error] of errors.entries()) pipes.say(`{"id":${index + 1},"error":${error},"result":{}}`);
      const unnamed = "rpc_error: the hook answered with an error";
      equal(await Promise.all(replies), ["rpc_error: out of order", unnamed, unnamed, unnamed]);
    },
    "an-error-that-is-null-is-none": async () => {
      const { pipes, call } = connect();
      const reply = call();
      pipes.say('{"id":1,"error":null,"result":{"ok":1}}');
      equal(await reply, { ok: 1 });
    },
    "an-error-that-is-not-an-object-is-no-verdict": async () => {
      const errors = ['"no"', "7", "false", "[]"];
      const { pipes, call } = connect();
      const replies = errors.map(() => failure(call()));
      for (const [index, error] of errors.entries()) pipes.say(`{"id":${index + 1},"error":${error}}`);
      equal(await Promise.all(replies), Array(4).fill("bad_envelope: the reply's error is not an object"));
    },
    "a-result-comes-as-it-is-and-as-undefined-when-there-is-none": async () => {
      const { pipes, call } = connect();
      const results = ["null", "{}", "[1]", '"x"', "7", '{"unknown":{"deep":[null]}}'];
      const replies = [call(), ...results.map(() => call())];
      pipes.say('{"id":1}', ...results.map((text, index) => `{"id":${index + 2},"result":${text}}`));
      equal(await Promise.all(replies), [undefined, ...results.map((text): unknown => JSON.parse(text))]);
    },
    "keys-in-another-case-are-not-known": async () => {
      equal(await dropped('{"ID":1,"Result":{}}'), ["bad_id"]);
    },
    "crlf-is-a-lines-end": async () => {
      const { pipes, call } = connect();
      const replies = [call(), call()];
      pipes.say(bytes(`${result(1, { a: 1 })}\r\n\r\n${result(2, { a: 2 })}\r\n`));
      equal(await Promise.all(replies), [{ a: 1 }, { a: 2 }]);
    },
    "replies-match-by-id-in-any-order": async () => {
      const { pipes, call } = connect();
      const replies = Array.from({ length: 50 }, () => call());
      for (let id = 50; id >= 1; id -= 1) pipes.say(result(id, { id }));
      equal(
        await Promise.all(replies),
        Array.from({ length: 50 }, (_, index) => ({ id: index + 1 })),
      );
    },
  },
);

/** How bytes become lines. */
export const stdioFramingCases = casesOf(
  { topic: "stdio-framing", source: SOURCE },
  {
    "only-the-byte-0x0a-ends-a-line": async () => {
      const { pipes, call } = connect();
      const reply = call();
      const value = { text: "a\u2028b\u2029c\u0085d\u000be" };
      pipes.say(result(1, value));
      equal(await reply, value);
    },
    "a-character-may-be-cut-anywhere": async () => {
      const { pipes, call } = connect();
      const reply = call();
      const value = { text: "ä€😀" };
      for (const byte of bytes(`${result(1, value)}\n`)) pipes.say(Uint8Array.of(byte));
      equal(await reply, value);
    },
    "lines-and-chunks-do-not-have-to-agree": async () => {
      const { pipes, call } = connect();
      const replies = [call(), call(), call()];
      const all = bytes(`${result(1, "a")}\n${result(2, "b")}\n${result(3, "c")}\n`);
      pipes.say(all.slice(0, 50), all.slice(50, 60), all.slice(60));
      equal(await Promise.all(replies), ["a", "b", "c"]);
    },
    "a-line-that-is-not-utf-8-is-dropped-its-neighbours-are-not": async () => {
      const { pipes, log, call } = connect();
      const replies = [call(), call()];
      pipes.say(bytes(`${result(1, 1)}\n`), Uint8Array.of(0x22, 0xff, 0x22, 0x0a), result(2, 2));
      equal(await Promise.all(replies), [1, 2]);
      const more = [call(), call()];
      const line = (id: number): number[] => [...bytes(`${result(id, id)}\n`)];
      pipes.say(Uint8Array.from([...line(3), 0xc3, 0x28, 0x0a, ...line(4)]));
      equal(await Promise.all(more), [3, 4]);
      equal(log.reasons, ["not_utf8", "not_utf8"]);
    },
    "a-line-of-the-greatest-length-is-read": async () => {
      const line = result(1, "x".repeat(200));
      const { pipes, call } = connect({ maxMessageBytes: line.length });
      const reply = call();
      pipes.say(bytes(line.slice(0, 9)), bytes(`${line.slice(9)}\n`));
      equal(await reply, "x".repeat(200));
    },
    "a-longer-line-ends-the-calls-in-flight-and-the-next-line-is-read": async () => {
      const { pipes, log, call } = connect({ maxMessageBytes: 100 });
      for (const [round, cut] of [20, 150, 260].entries()) {
        const before = [failure(call()), failure(call())];
        const all = bytes(`${result(1, "x".repeat(200))}\n`);
        pipes.say(all.slice(0, cut), all.slice(cut));
        const kind = "too_large: the hook wrote a line longer than 100 bytes";
        equal(await Promise.all(before), [kind, kind]);
        const after = call();
        pipes.say(result(3 * round + 3, "well"));
        equal(await after, "well");
      }
      equal(log.reasons, ["too_long", "too_long", "too_long"]);
    },
    "a-line-without-its-end-is-not-a-reply": async () => {
      const { pipes, log, connection, call } = connect();
      const reply = failure(call());
      pipes.say(bytes(result(1)));
      pipes.end();
      await connection.readToEnd;
      equal(log.reasons, ["partial_line"]);
      connection.fail(new HookCallError("exited", "over"));
      equal(await reply, "exited: over");
    },
    "what-is-dropped-is-logged-with-its-reason-and-length-and-never-with-its-text": async () => {
      const { pipes, log, call } = connect({ maxMessageBytes: 100 });
      const replies = [failure(call()), failure(call())];
      const secret = "sk-SECRET";
      pipes.say(secret, result(99, secret), `["${secret}"]`, Uint8Array.from([...bytes(secret), 0xff, 0x0a]));
      pipes.say(`"${secret.repeat(20)}"`);
      await Promise.all(replies);
      equal(log.reasons, ["not_object", "unknown_id", "not_object", "not_utf8", "too_long"]);
      ok(!log.text.includes("SECRET"), "the log holds what a hook wrote");
    },
    "a-flood-of-dropped-lines-is-counted-not-logged": async () => {
      const { pipes, connection, log, call } = connect();
      const reply = call();
      pipes.say(...Array.from({ length: 1000 }, () => "noise"), result(1));
      await reply;
      equal([log.reasons.length, connection.droppedLines], [10, 1000]);
      connection.flushLog();
      ok(log.text.includes('"suppressed":990'), log.text);
    },
  },
);

/** What goes to a hook. */
export const stdioWriteCases = casesOf(
  { topic: "stdio-writes", source: SOURCE },
  {
    "ids-are-1-2-3-and-a-notification-has-none": async () => {
      const { pipes, connection, call } = connect();
      void call('{"a":1}');
      connection.notify({ method: "hook.event", params: '{"Kind":"error"}' });
      void call("{}");
      await pipes.nextWrite();
      await pipes.nextWrite();
      equal(pipes.writes.join("").split("\n"), [
        '{"jsonrpc":"2.0","id":1,"method":"hook.before_tool","params":{"a":1}}',
        '{"jsonrpc":"2.0","method":"hook.event","params":{"Kind":"error"}}',
        '{"jsonrpc":"2.0","id":2,"method":"hook.before_tool","params":{}}',
        "",
      ]);
    },
    "the-lines-of-a-tick-share-a-write-only-the-first-after-quiet-has-its-own": async () => {
      const { pipes, call } = connect();
      const counts: number[] = [];
      for (let burst = 0; burst < 3; burst += 1) {
        const before = pipes.writes.length;
        const replies = Array.from({ length: 16 }, () => call());
        await pipes.written(16 * (burst + 1));
        counts.push(pipes.writes.length - before);
        pipes.say(...replies.map((_, index) => result(16 * burst + index + 1)));
        await Promise.all(replies);
      }
      equal(counts, [2, 1, 1]);
    },
    "line-separators-are-escaped-and-line-feeds-between-tokens-are-spaces": async () => {
      const { pipes, call } = connect();
      void call('{\n"a":"x\u2028y\u2029z"}');
      const line = await pipes.nextWrite();
      equal(line.split("\n").length, 2);
      ok(!/[\u2028\u2029]/.test(line), "a line separator went out");
      const { params } = JSON.parse(line) as { params: unknown };
      equal(params, { a: "x\u2028y\u2029z" });
    },
    "a-hook-that-does-not-read-costs-its-calls-their-verdict-at-once-and-no-memory": async () => {
      const { call } = connect({ isStuck: true, maxQueuedChars: 1000 });
      const big = `"${"x".repeat(600)}"`;
      void call(big);
      void call(big);
      equal(await failure(call(big)), "overloaded: the hook does not read what is sent to it");
    },
    "a-message-beyond-the-bound-goes-out-when-nothing-else-waits": async () => {
      const { pipes, call } = connect({ maxQueuedChars: 100 });
      const reply = call(`"${"x".repeat(600)}"`);
      ok((await pipes.nextWrite()).length > 600, "it was cut");
      pipes.say(result(1, "read"));
      equal(await reply, "read");
    },
    "a-closed-stdout-ends-the-conversation": async () => {
      const { pipes, connection, call } = connect();
      pipes.end();
      equal(await connection.broken, "closed its stdout");
      equal(await failure(call()), "not_running: the hook closed its stdout");
    },
  },
);
