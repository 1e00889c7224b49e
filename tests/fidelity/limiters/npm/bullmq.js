// BullMQ's limiter on a real Redis: workers of many queues, each asked for its next job. Arguments: port,
// max, duration in ms, queues, decisions, seed.
'use strict';

const { connect, drive, timed } = require('./redis.js');
const { Queue, Worker } = require('bullmq');
const { version } = require('bullmq/package.json');

const COMMAND = `moveToActive:${version}`;
const REFILL = new Array(100).fill({ name: 'job', data: {} });

async function main([port, max, duration, keys, count, seed]) {
  const redis = await connect(port);
  const byLine = new Map();
  const queues = [];
  for (let key = 0; key < keys; key++) {
    const name = `q${seed}-${key}`;
    const queue = new Queue(name, { connection: redis });
    const worker = new Worker(name, null, { connection: redis, autorun: false, limiter: { max, duration } });
    await worker.waitUntilReady();
    const ask = { queue, worker, waiting: 0, decisions: [] };
    byLine.set(worker.keys.wait, ask);
    queues.push(ask);
  }
  // what a worker calls is its own script, between two looks at the time
  const script = redis[COMMAND];
  redis[COMMAND] = async (args) => {
    const ask = byLine.get(args[0]);
    const decision = ask.decisions.shift();
    const { reply, from, to } = await timed(redis, (multi) => script.call(multi, args), decision.at);
    const [job, , expires] = reply;
    if (!job && !(expires > 0)) throw new Error(`nothing waits: ${reply}`);
    Object.assign(decision, { passed: Boolean(job), from, to });
    return reply;
  };
  const decide = async (key, at) => {
    const ask = queues[key];
    if (ask.waiting < REFILL.length) {
      ask.waiting += REFILL.length;
      ask.queue.addBulk(REFILL);
    }
    const decision = { at };
    ask.decisions.push(decision);
    await ask.worker.backend.moveToActive('token', 'worker');
    if (decision.passed) ask.waiting--;
    return decision;
  };
  for (const ask of queues) {
    ask.waiting += 2 * REFILL.length;
    await ask.queue.addBulk(REFILL.concat(REFILL));
  }
  // a full window is over when its length is
  const lines = await drive({ redis, keys, count, limit: max, length: duration, over: 0, seed, decide });
  process.stdout.write(lines, () => process.exit());
}

main(process.argv.slice(2).map(Number));
