// One worker process that calls a vendor through Bottleneck, on the wall clock. Arguments: the port of a
// Redis that all workers share, or `-`; how long it calls, in ms; how long a call takes, in ms. It says that
// it's ready, reads from standard input when to begin, in ms since the epoch, and prints when each call began;
// at its end `late` and the most ms by which it, or Redis, was ever late.
'use strict';

const Bottleneck = require('bottleneck');
const Redis = require('ioredis');

// How often lateness is looked at, in ms.
const BEAT = 20;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Measures how late timers fire and, with a Redis, how late it answers.
async function watch(redis) {
  let latest = 0;
  process.on('exit', () => process.stdout.write(`late ${latest}\n`));
  for (;;) {
    const due = Date.now() + BEAT;
    await sleep(BEAT);
    if (redis) await redis.ping();
    latest = Math.max(latest, Date.now() - due);
  }
}

async function main([port, lasting, takes]) {
  const shared = port === '-' ? {} : {
    id: 'vendor',
    datastore: 'ioredis',
    Redis,
    clientOptions: { host: '127.0.0.1', port: Number(port) },
  };
  const limiter = new Bottleneck({ minTime: 500, maxConcurrent: 1, ...shared });
  limiter.on('error', (error) => {
    throw error;
  });
  await limiter.ready();
  const redis = port === '-' ? null : new Redis({ port: Number(port), host: '127.0.0.1' });
  await redis?.ping();
  process.stdout.write('ready\n');
  const from = Number(await new Promise((resolve) => process.stdin.once('data', resolve)));
  const until = from + Number(lasting);
  watch(redis);
  await sleep(from - Date.now());
  const call = async () => {
    const at = Date.now();
    if (at < until) process.stdout.write(`${at}\n`);
    else process.exit();
    await sleep(Number(takes));
  };
  // always something to do
  const next = () => limiter.schedule(call).then(next);
  next();
  next();
  // where others have the slot
  setTimeout(() => process.exit(), until + 1000 - Date.now());
}

main(process.argv.slice(2));
