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
// To fill a window that is about to end, so many are asked at most.
const MOST_FILLED = 20;
// The end of a window is aimed at when it is so near, in µs.
const LEAD = 2500;

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

// Asks about keys `0..keys` until so many decisions are known: many at once, one again and again, and those
// whose window of `length` ms is about to end, once it's full, in its last ms and in the first of the next,
// `over` ms after its length. `decide` resolves to `{ passed, from, to }` and is called in the order in which
// Redis is to decide.
async function drive({ redis, keys, count, limit, length, over, seed, decide }) {
  const { below } = random(seed);
  const list = [];
  for (let key = 0; key < keys; key++) {
    list.push({ number: key, life: 0, ends: 0, full: false, lost: false, from: 0 });
  }
  const lines = [];
  const ask = async (key, at) => {
    const number = lines.push('') - 1;
    const { passed, from, to } = await decide(key.number, at);
    if (passed && from >= key.ends) key.ends = from + length * 1000;
    key.full = !passed;
    // where Redis was held up the time is too open to tell anything of this key until its window is over
    key.lost ||= to - from > MOST_OPEN;
    if (!key.lost) {
      lines[number] = `${from}..${to} k${key.number}.${key.life} 1 ${passed ? 'pass' : 'refuse'}\n`;
    }
  };
  // a script is loaded when it's first called
  await ask(list[0], 1);
  for (let known = 0; known < count && lines.length < MOST_ASKS * count; ) {
    const now = Date.now() * 1000;
    for (const key of list.filter((key) => key.lost && key.from === 0)) {
      key.from = now + length * 1000 + 10_000;
    }
    for (const key of list.filter((key) => key.lost && now > key.from)) {
      Object.assign(key, { life: key.life + 1, ends: 0, full: false, lost: false, from: 0 });
    }
    const alive = list.filter((key) => !key.lost);
    const any = () => alive[below(alive.length)];
    const before = lines.length;
    const batch = [];
    const due = alive.filter(({ ends }) => ends > now && ends < now + LEAD && below(2) === 0);
    for (const key of due.sort((a, b) => a.ends - b.ends)) {
      for (let i = key.full ? 0 : Math.min(limit, MOST_FILLED); i > 0; i--) batch.push(ask(key));
      const first = key.ends - (key.ends % 1000) + over * 1000;
      batch.push(ask(key, first - 1000), ask(key, first));
    }
    const kind = below(10);
    if (alive.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, length));
    } else if (kind < 3) {
      for (let i = 5 + below(30), key = any(); i > 0; i--) batch.push(ask(key));
    } else {
      for (let i = 5 + below(30); i > 0; i--) batch.push(ask(any()));
    }
    await Promise.all(batch);
    known += lines.slice(before).filter((line) => line !== '').length;
    if (kind === 9) await new Promise((resolve) => setTimeout(resolve, below(Math.min(length / 8, 20))));
  }
  return lines.join('');
}

module.exports = { connect, drive, timed };
