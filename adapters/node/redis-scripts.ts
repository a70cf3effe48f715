import { createHash } from "node:crypto";
import { APPROVAL_STATUSES } from "../../src/approvals/index.ts";
import { MAX_SWEPT_SESSIONS } from "../../src/jcli/index.ts";

/** A script that the server runs in one atomic step. */
export interface RedisScript {
  readonly text: string;
  /** What the server knows it by, once it has seen it. */
  readonly sha1: string;
}

/**
 * The keys that every script on approvals is given, in this order and each with what it begins with. Scripts touch no
 * others, and all are in one slot of a cluster.
 */
export const APPROVAL_KEYS: readonly string[] = [
  // id -> "version status call"; id -> the approval as JSON; call -> the id of its last, the only one that may be open
  "head",
  "body",
  "last",
  // ids by when they expire, by when they were settled, and by themselves
  "due",
  "settled",
  "all",
  // the number of the last change
  "seq",
  ...APPROVAL_STATUSES.map((status) => `status:${status}`),
];

const NAMES = "local HEAD, BODY, LAST, DUE, SETTLED, ALL, SEQ = unpack(KEYS, 1, 7)";
const BY = `local BY = {${APPROVAL_STATUSES.map((status, index) => `${status} = KEYS[${8 + index}]`).join(", ")}}`;

/** A change: after it, where others listen, "seq id version status" is published. */
const KEEP = `
local id, version, status, call, isOpen, expires, changed, body, channel = unpack(ARGV)
local function keep(old)
  if old ~= status then
    if old then redis.call('ZREM', BY[old], id) end
    redis.call('ZADD', BY[status], 0, id)
  end
  redis.call('HSET', HEAD, id, version .. ' ' .. status .. ' ' .. call)
  redis.call('HSET', BODY, id, body)
  redis.call('ZADD', ALL, 0, id)
  if isOpen == '1' then
    redis.call('ZADD', DUE, expires, id)
    redis.call('ZREM', SETTLED, id)
  else
    redis.call('ZREM', DUE, id)
    redis.call('ZADD', SETTLED, changed, id)
  end
  local seq = redis.call('INCR', SEQ)
  -- Who may not publish has changed it all the same: the others find it by polling.
  redis.pcall('PUBLISH', channel, seq .. ' ' .. id .. ' ' .. version .. ' ' .. status)
end`;

/** Arguments: what is kept, and the channel. Answers `created`, `taken`, or the approval that is open. */
export const CREATE: RedisScript = toScript(`${KEEP}
local last = isOpen == '1' and redis.call('HGET', LAST, call)
local there = last and redis.call('ZSCORE', DUE, last) and redis.call('HGET', BODY, last)
if there then return {'open', there} end
if redis.call('HEXISTS', HEAD, id) == 1 then return {'taken'} end
redis.call('HSET', LAST, call, id)
keep(nil)
return {'created'}`);

/** Arguments: what is kept, and the channel. Answers 1 when it has replaced the version before. */
export const REPLACE: RedisScript = toScript(`${KEEP}
local head = redis.call('HGET', HEAD, id)
if not head then return 0 end
local before, old = string.match(head, '^(%d+) (%a+)')
if tonumber(before) ~= tonumber(version) - 1 then return 0 end
keep(old)
return 1`);

/** Arguments: a call. Answers the approval that is open for it. */
export const FIND_OPEN: RedisScript = toScript(`
local id = redis.call('HGET', LAST, ARGV[1])
return id and redis.call('ZSCORE', DUE, id) and redis.call('HGET', BODY, id)`);

/** Arguments: a call. Answers the approval of it that was asked for last. */
export const FIND_LAST: RedisScript = toScript(`
local id = redis.call('HGET', LAST, ARGV[1])
return id and redis.call('HGET', BODY, id)`);

const WITH_BODIES = `
if #ids == 0 then return {{}, {}} end
return {ids, redis.call('HMGET', BODY, unpack(ids))}`;

/** Arguments: a status or nothing, where the page begins, the most there may be. Answers ids, and approvals. */
export const LIST: RedisScript = toScript(`
local ids = redis.call('ZREVRANGEBYLEX', BY[ARGV[1]] or ALL, ARGV[2], '-', 'LIMIT', 0, ARGV[3])
${WITH_BODIES}`);

/** Arguments: a time, the most there may be. Answers ids, and approvals. */
export const LIST_DUE: RedisScript = toScript(`
local ids = redis.call('ZRANGEBYSCORE', DUE, '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
${WITH_BODIES}`);

/** Arguments: the time now, ids of approvals that cannot be read. Those whose time is over are open no more. */
export const END_UNREADABLE: RedisScript = toScript(`
for index = 2, #ARGV do
  local expires = redis.call('ZSCORE', DUE, ARGV[index])
  if expires and tonumber(expires) <= tonumber(ARGV[1]) then
    redis.call('ZREM', DUE, ARGV[index])
    redis.call('ZADD', SETTLED, ARGV[1], ARGV[index])
  end
end
return 0`);

/** Arguments: a time, the most there may be. Answers how many are deleted. */
export const PRUNE: RedisScript = toScript(`
local ids = redis.call('ZRANGEBYSCORE', SETTLED, '-inf', '(' .. ARGV[1], 'LIMIT', 0, ARGV[2])
for _, id in ipairs(ids) do
  local head = redis.call('HGET', HEAD, id)
  local status, call = string.match(head or '', '^%d+ (%a+) (%x+)$')
  -- Of what cannot be read it is not known in which it is.
  for word, key in pairs(BY) do
    if not status or word == status then redis.call('ZREM', key, id) end
  end
  if call and redis.call('HGET', LAST, call) == id then redis.call('HDEL', LAST, call) end
  redis.call('ZREM', SETTLED, id)
  redis.call('ZREM', ALL, id)
  redis.call('HDEL', HEAD, id)
  redis.call('HDEL', BODY, id)
end
return #ids`);

/**
 * Key: what is to be single-use. Arguments: when it expires, the time now, how long it is kept. Answers 1 when it is new.
 * The server's own clock only forgets it; whether it has expired is for the clock of whoever asks.
 */
export const INSERT: RedisScript = toScript(
  `
local expires = redis.call('GET', KEYS[1])
if expires and tonumber(expires) > tonumber(ARGV[2]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
return 1`,
  "",
);

/** The keys that every script on the hooks of sessions is given, in this order and each with what it begins with. */
export const SESSION_KEYS: readonly string[] = [
  // session -> "version hooks"; sessions by when they were used last; the number of the last change
  "session-hooks",
  "session-hooks:used",
  "session-hooks:version",
];

const SESSION_NAMES = "local BODY, USED, VERSION = unpack(KEYS)\n";

/** Arguments: a session, before when it is over, before when its use is written down, the time now. Answers what it has. */
export const FIND_SESSION: RedisScript = toScript(
  `
local session, over, stale, now = unpack(ARGV)
local used = redis.call('ZSCORE', USED, session)
if not used or tonumber(used) <= tonumber(over) then return false end
if tonumber(used) <= tonumber(stale) then redis.call('ZADD', USED, now, session) end
return redis.call('HGET', BODY, session)`,
  SESSION_NAMES,
);

/**
 * Arguments: a session, its hooks or nothing, the channel, the version that is known, how many sessions there may be, before
 * when they are over, the time now. Answers `conflict`, `full`, or the new version; then "version session" is published.
 */
export const REPLACE_SESSION: RedisScript = toScript(
  `
local session, hooks, channel, known, max, over, now = unpack(ARGV)
local function drop(id)
  redis.call('ZREM', USED, id)
  redis.call('HDEL', BODY, id)
end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', USED, '-inf', over, 'LIMIT', 0, ${MAX_SWEPT_SESSIONS})) do drop(id) end
local used = redis.call('ZSCORE', USED, session)
if used and tonumber(used) <= tonumber(over) then
  drop(session)
  used = false
end
local body = used and redis.call('HGET', BODY, session)
local before = body and string.match(body, '^%d+') or '0'
if tonumber(before) ~= tonumber(known) then return 'conflict' end
if not body and hooks ~= '' and redis.call('ZCOUNT', USED, '(' .. over, '+inf') >= tonumber(max) then return 'full' end
local version = redis.call('INCR', VERSION)
if hooks == '' then drop(session) else
  redis.call('HSET', BODY, session, version .. ' ' .. hooks)
  redis.call('ZADD', USED, now, session)
end
-- Who may not publish has changed it all the same: the others look again after a while.
redis.pcall('PUBLISH', channel, version .. ' ' .. session)
return version`,
  SESSION_NAMES,
);

function toScript(body: string, names = `${NAMES}\n${BY}\n`): RedisScript {
  const text = `${names}${body}`;
  return { text, sha1: createHash("sha1").update(text).digest("hex") };
}
