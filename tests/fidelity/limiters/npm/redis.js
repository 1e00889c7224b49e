// Asks limiters whose clock is Redis': by their own scripts, each between two looks at Redis' time, in one
// transaction with it.
'use strict';

const { random } = require('./traffic.js');
const { Redis } = require('ioredis');

// A time that is more open than this, in µs, is too open.
const MOST_OPEN = 2000;
// At most one decision in so many may be lost to that: more, and Redis was held up all the time.
const MOST_LOST = 5;

function connect(port) {
  const redis = new Redis({ port, host: '127.0.0.1', maxRetriesPerRequest: null });
  return new Promise((resolve, reject) => {
    redis.once('ready', () => resolve(redis));
    redis.once('error', reject);
  });
}

const microseconds = ([seconds, rest]) => Number(seconds) * 1e6 + Number(rest);

// Has a transaction run what `call` adds to it: its reply, and Redis' time before and after.
async function timed(redis, call) {
  const multi = redis.multi();
  multi.time();
  call(multi);
  multi.time();
  const [[, before], [error, reply], [, after]] = await multi.exec();
  if (error) throw error;
  return { reply, from: microseconds(before), to: microseconds(after) };
}

// Asks about keys `0..keys` until so many decisions are known: many at once, one again and again, and those
// whose window of `length` ms is about to end or has just. `decide` resolves to `{ passed, from, to }`, and is
// called in the order in which Redis is to decide.
async function drive({ keys, count, length, seed, decide }) {
  const { below } = random(seed);
  const list = [];
  for (let key = 0; key < keys; key++) list.push({ number: key, life: 0, ends: 0, lost: false, from: 0 });
  const lines = [];
  const ask = async (key) => {
    const number = lines.push('') - 1;
    const { passed, from, to } = await decide(key.number);
    if (passed && from >= key.ends) key.ends = from + length * 1000;
    // where Redis was held up the time is too open to tell anything of this key until its window is over
    key.lost ||= to - from > MOST_OPEN;
    if (!key.lost) {
      lines[number] = `${from}..${to} k${key.number}.${key.life} 1 ${passed ? 'pass' : 'refuse'}\n`;
    }
  };
  // a script is loaded when it's first called
  await ask(list[0]);
  for (let known = 0; known < count; ) {
    const now = Date.now() * 1000;
    for (const key of list.filter((key) => key.lost && key.from === 0)) {
      key.from = now + length * 1000 + 10_000;
    }
    for (const key of list.filter((key) => key.lost && now > key.from)) {
      Object.assign(key, { life: key.life + 1, ends: 0, lost: false, from: 0 });
    }
    const alive = list.filter((key) => !key.lost);
    const any = () => alive[below(alive.length)];
    const batch = [];
    for (const key of alive) {
      const left = key.ends - now;
      if (left > -2000 && left < 1500 && batch.length < 60) batch.push(key, key);
    }
    const kind = below(10);
    if (alive.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, length));
    } else if (kind < 3) {
      for (let i = 5 + below(30), key = any(); i > 0; i--) batch.push(key);
    } else {
      for (let i = 5 + below(30); i > 0; i--) batch.push(any());
    }
    const before = lines.length;
    await Promise.all(batch.map(ask));
    known += lines.slice(before).filter((line) => line !== '').length;
    if (kind === 9) await new Promise((resolve) => setTimeout(resolve, below(Math.min(length / 8, 20))));
  }
  const lost = lines.filter((line) => line === '').length;
  if (lost * MOST_LOST > lines.length) throw new Error(`${lost} of ${lines.length} times are too open`);
  return lines.join('');
}

module.exports = { connect, drive, timed };
