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
      const { reply, from, to } = await timed(redis, (multi) => multi.rlflxIncr(args));
      Object.assign(mine, { from, to });
      return reply;
    },
  };
  const limiter = new RateLimiterRedis({ storeClient, points, duration, keyPrefix: `rlf${seed}` });
  const decide = async (key) => {
    const decision = { passed: true };
    time = decision;
    const consumed = limiter.consume(`k${key}`);
    time = null;
    await consumed.catch((refusal) => {
      if (refusal instanceof Error) throw refusal;
      decision.passed = false;
    });
    return decision;
  };
  process.stdout.write(await drive({ keys, count, length: duration * 1000, seed, decide }));
  redis.disconnect();
}

main(process.argv.slice(2).map(Number));
