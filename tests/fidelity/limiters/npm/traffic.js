// Generated traffic: the same for the same seed.
'use strict';

// A linear congruential generator (Knuth's MMIX constants), its upper half.
function random(seed) {
  let state = BigInt(seed) * 2862933555777941757n + 3037000493n;
  const mask = (1n << 64n) - 1n;
  const next = () => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & mask;
    return Number(state >> 32n);
  };
  return { below: (n) => next() % n, pick: (list) => list[next() % list.length] };
}

// Requests of many keys, by time: `{ at, key, weight }`, at in whole ms from `start`. A key's requests come
// in bursts, a little apart, at a length that the limiter turns on or a ms beside it, and after long pauses.
function requests({ start, keys, count, length, weights, seed }) {
  const { below, pick } = random(seed);
  const list = [];
  for (let key = 0; key < keys; key++) {
    let at = start + below(length);
    // when a window may have begun: what is exactly a length later is at its edge
    let begun = at;
    for (let i = 0; i < count / keys; i++) {
      list.push({ at, key: `k${key}`, weight: pick(weights) });
      const kind = below(20);
      if (kind < 9) {
        // the same ms
      } else if (kind < 13) {
        at += 1 + below(Math.max(1, length >> 3));
      } else if (kind < 17) {
        const edge = begun + length + pick([-1, 0, 0, 1]);
        at = Math.max(at, edge);
        begun = at;
      } else if (kind < 19) {
        at += pick([length - 1, length, length + 1]);
        begun = at;
      } else {
        at += length + below(3 * length);
        begun = at;
      }
    }
  }
  list.forEach((request, number) => (request.number = number));
  return list.sort((a, b) => a.at - b.at || a.number - b.number);
}

module.exports = { random, requests };
