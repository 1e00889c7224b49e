// rate-limiter-flexible in memory. Arguments: points, duration in s, blockDuration in s, whether weights
// vary, keys, requests, seed.
'use strict';

const clock = require('./clock.js');
const { requests } = require('./traffic.js');
const { RateLimiterMemory } = require('rate-limiter-flexible');

async function main([points, duration, blockDuration, weigh, keys, count, seed]) {
  const limiter = new RateLimiterMemory({ points, duration, blockDuration });
  const lines = [];
  const length = Math.round((seed % 2 && blockDuration ? blockDuration : duration) * 1000);
  const weights = weigh ? [1, 1, 2, 3, points + 1] : [1];
  for (const { at, key, weight } of requests({ start: clock.time(), keys, count, length, weights, seed })) {
    await clock.advance(at);
    const verdict = await limiter.consume(key, weight).then(
      () => 'pass',
      (refusal) => {
        if (refusal instanceof Error) throw refusal;
        return 'refuse';
      },
    );
    lines.push(`${at * 1000} ${key} ${weight} ${verdict}\n`);
  }
  process.stdout.write(lines.join(''));
}

main(process.argv.slice(2).map(Number));
