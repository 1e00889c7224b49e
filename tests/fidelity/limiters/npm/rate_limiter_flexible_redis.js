// rate-limiter-flexible on a real Redis. Arguments: port, points, duration in s, keys, decisions, seed.
'use strict';

const { connect, drive, timed } = require('./redis.js');
const { RateLimiterRedis } = require('rate-limiter-flexible');

async function main([port, points, duration, keys, count, seed]) {
  const redis = await connect(port);
  let time = null;
  const storeClient = {
    defineCommand: (name, script) => redis.defineCommand(name, script),
    rlflxIncr: async (args) => {
      const mine = time;
      const { reply, from, to } = await timed(redis, (multi) => multi.rlflxIncr(args), mine.at);
      Object.assign(mine, { from, to });
      return reply;
    },
  };
  const limiter = new RateLimiterRedis({ storeClient, points, duration, keyPrefix: `rlf${seed}` });
  const decide = async (key, at) => {
    const decision = { passed: true, at };
    time = decision;
    const consumed = limiter.consume(`k${key}`);
    time = null;
    await consumed.catch((refusal) => {
      if (refusal instanceof Error) throw refusal;
      decision.passed = false;
    });
    return decision;
  };
  const length = duration * 1000;
  // a key is still there a window after it was made
  process.stdout.write(await drive({ redis, keys, count, limit: points, length, over: 1, seed, decide }));
  redis.disconnect();
}

main(process.argv.slice(2).map(Number));
