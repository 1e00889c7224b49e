// express-rate-limit's middleware over its memory store. Arguments: window in ms, limit, keys, requests,
// seed.
'use strict';

const clock = require('./clock.js');
const { requests } = require('./traffic.js');
const { rateLimit } = require('express-rate-limit');

async function main([windowMs, limit, keys, count, seed]) {
  const middleware = rateLimit({
    windowMs,
    limit,
    keyGenerator: (request) => request.key,
    // its checks of a set-up look for Express, and complain of clocks
    validate: false,
  });
  const lines = [];
  const start = clock.time();
  for (const { at, key } of requests({ start, keys, count, length: windowMs, weights: [1], seed })) {
    await clock.advance(at);
    let verdict = null;
    const response = {
      headersSent: false,
      writableEnded: false,
      setHeader() {},
      status(code) {
        if (code !== 429) throw new Error(`status ${code}`);
        return response;
      },
      send() {
        verdict = 'refuse';
      },
    };
    const next = (error) => {
      if (error) throw error;
      verdict = 'pass';
    };
    await middleware({ key, ip: '203.0.113.9', headers: {}, app: { get() {} } }, response, next);
    lines.push(`${at * 1000} ${key} 1 ${verdict}\n`);
  }
  process.stdout.write(lines.join(''));
}

main(process.argv.slice(2).map(Number));
