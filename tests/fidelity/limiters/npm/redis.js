// Asks limiters whose clock is Redis': by their own scripts, each between two looks at Redis' time, in one
// transaction with it.
'use strict';

const { readFileSync } = require('fs');
const { join } = require('path');
const { random } = require('./traffic.js');
const { Redis } = require('ioredis');

// A time that is more open than this, in µs, is too open.
const MOST_OPEN = 2000;
// Asks at most so many times as many as are to be known: what is missing then is for another round.
const MOST_ASKS = 2;
// So many keys are aimed at, at most, and as many as are filled in a part of their window.
const [MOST_AIMED, FILLED_IN] = [10, 1 / 4];
// Redis is told to wait for the end of a window so long before, in µs: the longer the later aims come.
const [LEAST_LEAD, MOST_LEAD] = [2000, 20000];

function connect(port) {
  const redis = new Redis({ port, host: '127.0.0.1', maxRetriesPerRequest: null });
  redis.defineCommand('waitUntil', { numberOfKeys: 0, lua: readFileSync(join(__dirname, 'wait.lua'), 'utf8') });
  return new Promise((resolve, reject) => {
    redis.once('ready', () => resolve(redis));
    redis.once('error', reject);
  });
}

const microseconds = ([seconds, rest]) => Number(seconds) * 1e6 + Number(rest);

// Has a transaction run what `call` adds to it, right at an instant if one is given, in µs: its reply, and
// Redis' time before and after.
async function timed(redis, call, at) {
  if (at) redis.waitUntil(at);
  const multi = redis.multi();
  multi.time();
  call(multi);
  multi.time();
  const [[, before], [error, reply], [, after]] = await multi.exec();
  if (error) throw error;
  return { reply, from: microseconds(before), to: microseconds(after) };
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Asks about keys `0..keys` until so many decisions are known: many at once, one again and again, and those
// whose window of `length` ms is about to end or has just. The last few keys are aimed at: their windows are
// filled, and asked in their last ms and in the first of the next, `over` ms after their length. `decide`
// resolves to `{ passed, from, to }` and is called in the order in which Redis is to decide.
async function drive({ redis, keys, count, limit, length, over, seed, decide }) {
  const { below } = random(seed);
  const list = [];
  for (let key = 0; key < keys; key++) list.push({ number: key, life: 0, next: 0, lost: false, from: 0 });
  const lines = [];
  let lead = LEAST_LEAD;
  const ask = async (key, at) => {
    const number = lines.push('') - 1;
    const { passed, from, to } = await decide(key.number, at);
    // the first instant of the next window
    if (passed && from >= key.next) key.next = from - (from % 1000) + (length + over) * 1000;
    // where Redis was held up the time is too open to tell anything of this key until its window is over
    key.lost ||= to - from > MOST_OPEN;
    if (!key.lost) {
      lines[number] = `${from}..${to} k${key.number}.${key.life} 1 ${passed ? 'pass' : 'refuse'}\n`;
    }
    return from;
  };
  // how long an ask takes where there are many, in µs
  let pace = 0;
  const many = async (alive) => {
    const any = () => alive[below(alive.length)];
    const now = Date.now() * 1000;
    const ending = alive.filter(({ next }) => next > now - 1000 && next < now + 2500).slice(0, 30);
    const batch = ending.concat(ending);
    const kind = below(10);
    const one = any();
    for (let i = 5 + below(30); i > 0; i--) batch.push(kind < 3 ? one : any());
    await Promise.all(batch.map((key) => ask(key)));
    pace = (Date.now() * 1000 - now) / batch.length;
    if (kind === 9) await sleep(below(Math.min(length / 8, 20)));
  };
  const fill = async (alive) => {
    const size = Math.max(1, Math.trunc((length * 1000 * FILLED_IN) / (pace * limit)));
    const group = alive.slice(0, size);
    // some are left with room
    const times = (full) => (below(4) === 0 ? full >> 1 : full);
    await Promise.all(group.flatMap((key) => Array.from({ length: times(limit) }, () => ask(key))));
    return group;
  };
  const aim = async (group) => {
    const aims = group.flatMap((key) => [{ key, at: key.next - 1000 }, { key, at: key.next }]);
    aims.sort((a, b) => a.at - b.at);
    const late = await Promise.all(aims.map(async ({ key, at }) => (await ask(key, at)) >= at + 1000));
    const missed = late.filter((isLate) => isLate).length;
    lead = Math.max(LEAST_LEAD, Math.min(MOST_LEAD, lead + (2 * missed > aims.length ? 3000 : -1000)));
  };
  // a script is loaded when it's first called
  await ask(list[0], 1);
  let [known, filled] = [0, []];
  while (known < count && lines.length < MOST_ASKS * count) {
    const now = Date.now() * 1000;
    for (const key of list.filter((key) => key.lost)) {
      if (key.from === 0) key.from = now + length * 1000 + 10_000;
      if (now > key.from) Object.assign(key, { life: key.life + 1, next: 0, lost: false, from: 0 });
    }
    const before = lines.length;
    const others = list.slice(0, -MOST_AIMED).filter((key) => !key.lost);
    const targets = list.slice(-MOST_AIMED).filter((key) => !key.lost);
    filled = filled.filter((key) => !key.lost && key.next > now);
    const left = Math.min(...filled.map((key) => key.next)) - lead - now;
    if (left < 40 * pace) {
      await sleep(Math.max(0, left / 1000));
      await aim(filled);
      filled = [];
    } else if (filled.length === 0 && targets.length > 0 && below(2) === 0) {
      filled = await fill(targets);
    } else if (others.length > 0) {
      await many(others);
    } else {
      await sleep(length);
    }
    known += lines.slice(before).filter((line) => line !== '').length;
  }
  return lines.join('');
}

module.exports = { connect, drive, timed };
