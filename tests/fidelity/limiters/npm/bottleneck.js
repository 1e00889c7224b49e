// Bottleneck with a limiter per key. Arguments: minTime in ms, maxConcurrent, highWater (`-` for none),
// strategy, whether weights vary, keys, jobs, seed. Prints `T_US KEY WEIGHT DURATION_US VERDICT`, where a
// job that was dropped is `refuse:T_US`, with the time of its end.
'use strict';

const clock = require('./clock.js');
const { random } = require('./traffic.js');
const Bottleneck = require('bottleneck');

// Jobs of many keys: bursts, arrivals at distances and durations that are multiples of one another, and
// pauses that let a queue drain or a penalty end.
function jobs({ start, keys, count, step, slots, weights, seed, penalty }) {
  const { below, pick } = random(seed);
  const list = [];
  for (let key = 0; key < keys; key++) {
    let at = start + below(step);
    for (let i = 0; i < count / keys; i++) {
      const lasts = pick([1, step - 1, step, step, step + 1, 2 * step, 1 + below(4 * step)]);
      list.push({ at, key, weight: pick(weights), lasts: Math.max(1, lasts) });
      const kind = below(40);
      if (kind < 16) at += 0;
      else if (kind < 24) at += 1 + below(step);
      else if (kind < 30) at += step;
      else if (kind < 34) at += step * (1 + below(2 * slots + 2));
      else if (kind < 37) at += below(6 * step);
      else if (kind < 39) at += pick([penalty - 1, penalty, penalty + 1, penalty + step]);
      else at += 20 * step + below(20 * step);
    }
  }
  list.forEach((job, number) => (job.number = number));
  return list.sort((a, b) => a.at - b.at || a.number - b.number);
}

async function main(args) {
  const [minTime, maxConcurrent, highWater] = args.slice(0, 3).map((word) => (word === '-' ? null : Number(word)));
  const strategy = Bottleneck.strategy[args[3]];
  const [weigh, keys, count, seed] = args.slice(4).map(Number);
  const weights = weigh ? [1, 1, 1, 2, maxConcurrent || 2, (maxConcurrent || 2) + 1] : [1];
  const penalty = 15 * minTime || 5000;
  const step = minTime || 10;
  const list = jobs({
    start: clock.time(), keys, count, step, slots: maxConcurrent || 2, weights, seed, penalty,
  });
  const limiters = [];
  for (const job of list) {
    await clock.advance(job.at);
    limiters[job.key] ||= new Bottleneck({ minTime, maxConcurrent, highWater, strategy });
    const run = () => {
      job.verdict = clock.time() === job.at ? 'pass' : `delay:${(clock.time() - job.at) * 1000}`;
      return new Promise((resolve) => setTimeout(resolve, job.lasts));
    };
    limiters[job.key].schedule({ weight: job.weight }, run).catch((error) => {
      if (!(error instanceof Bottleneck.BottleneckError)) throw error;
      job.verdict = `refuse:${clock.time() * 1000}`;
    });
    await clock.settle();
  }
  while (!clock.idle()) await clock.advance(clock.time() + 1000);
  const lines = list.map((job) => `${job.at * 1000} k${job.key} ${job.weight} ${job.lasts * 1000} ${job.verdict}\n`);
  process.stdout.write(lines.join(''));
}

main(process.argv.slice(2));
