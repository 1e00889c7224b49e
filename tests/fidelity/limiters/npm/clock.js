// The clock of this process, which only `advance` moves: `Date` and the timers as the packages see them.
// Nothing but this clock takes time: a timer of 0 ms is due at once, where Node would wait for 1 ms.
'use strict';

const RealDate = Date;
const realImmediate = setImmediate;

// Thursday, 1 January 2026, 00:00 UTC
let now = 1767225600000;
let created = 0;
const timers = []; // a heap, by (due, number)

class ClockDate extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(now);
    else super(...args);
  }

  static now() {
    return now;
  }
}

const before = (a, b) => a.due < b.due || (a.due === b.due && a.number < b.number);

function put(timer) {
  let at = timers.push(timer) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!before(timers[at], timers[parent])) return;
    [timers[at], timers[parent]] = [timers[parent], timers[at]];
    at = parent;
  }
}

function take() {
  const first = timers[0];
  const last = timers.pop();
  if (timers.length === 0) return first;
  timers[0] = last;
  let at = 0;
  for (;;) {
    let least = at;
    for (const child of [2 * at + 1, 2 * at + 2]) {
      if (child < timers.length && before(timers[child], timers[least])) least = child;
    }
    if (least === at) return first;
    [timers[at], timers[least]] = [timers[least], timers[at]];
    at = least;
  }
}

function timer(call, delay, every) {
  const after = Math.max(0, Math.trunc(delay) || 0);
  const entry = { due: now + after, number: created++, call, every: every ? Math.max(1, after) : 0 };
  entry.ref = entry.unref = () => entry;
  put(entry);
  return entry;
}

const cancel = (entry) => {
  if (entry) entry.call = null;
};

globalThis.Date = ClockDate;
globalThis.setTimeout = (call, delay, ...args) => timer(() => call(...args), delay, false);
globalThis.setInterval = (call, delay, ...args) => timer(() => call(...args), delay, true);
globalThis.clearTimeout = globalThis.clearInterval = cancel;

// Lets everything happen that is due by now: timers, and what waits for promises.
async function settle() {
  for (;;) {
    await new Promise((resolve) => realImmediate(resolve));
    if (timers.length === 0 || timers[0].due > now) return;
    while (timers.length > 0 && timers[0].due <= now) {
      const entry = take();
      if (!entry.call) continue;
      const call = entry.call;
      if (entry.every) {
        entry.due += entry.every;
        entry.number = created++;
        put(entry);
      }
      call();
    }
  }
}

// Moves the clock to an instant, in ms, by way of every timer that is due before.
async function advance(to) {
  while (timers.length > 0 && timers[0].due <= to) {
    if (!timers[0].call) {
      take();
      continue;
    }
    now = Math.max(now, timers[0].due);
    await settle();
  }
  now = to;
}

module.exports = { advance, settle, time: () => now, idle: () => timers.every((entry) => !entry.call) };
