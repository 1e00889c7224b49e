"""One strategy of `limits` on Redis, as one of several processes: prints what was decided and when.

Arguments: PORT STRATEGY LIMIT WINDOW_MS SEED DECISIONS KEYS PREFIX. The fixed window and the sliding counter take
the time from Redis, in milliseconds that it does not tell: each script of the library runs between two
TIMEs, in one transaction, and what they leave open is printed as an interval; a window that was opened
tells its instant by when it will end. The moving window takes the time from its client.

The sliding counter reads what is left of a window, and has the next one last by so much longer: if a
millisecond ends in between, windows begin later from then on. A key to which that happened is lost, as is
one whose transaction was held up for long: what Redis told of it may be of two windows.

The library's windows are whole seconds; the script of its sliding counter takes any length.
"""

import heapq
import os
import random
import sys
import time

import limits.storage.redis
from limits.limits import RateLimitItemPerSecond
from limits.storage import RedisStorage
from limits.strategies import STRATEGIES

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

from resp import Redis  # noqa: E402

TIME = Redis.command("TIME")
OPEN = Redis.command("MULTI") + TIME
CLOSE = Redis.command("EXEC")
START_US = 1_790_000_000 * 1_000_000
# a transaction that takes longer was held up, microseconds
HELD_UP_US = 20_000
# Redis is told to wait for the end of a window so long before, microseconds: the longer the later that comes
LEAST_LEAD_US, MOST_LEAD_US = 250, 3_000


class Clock:
    """Stands in for the module `time` of the storage: what the moving window takes the time from."""

    now_us = START_US

    @classmethod
    def time(cls):
        return cls.now_us / 1_000_000


class Observed:
    """Runs a script of the library between two TIMEs, at `at_us` if that is set, and keeps what else Redis
    tells."""

    def __init__(self, port, script, sequence):
        self.redis = Redis(port)
        self.digest = self.redis.load(script.script)
        self.wait = self.redis.load_wait()
        self.sequence = Redis.command("INCR", sequence)
        self.at_us = None
        self.before = self.after = self.number = self.ended_ms = self.ends_ms = None

    def drift_ms(self, window_ms):
        """How much later than a window after the last one the sliding counter had a window begin."""
        by_ms = self.ends_ms - self.ended_ms
        stepped = self.ended_ms > 0 and window_ms <= by_ms < 2 * window_ms
        return by_ms - window_ms if stepped else 0

    def opened_us(self, window_ms):
        """When the sliding counter opened a window, if it did: its key lasts for two."""
        opened = self.ends_ms > 0 and self.ends_ms - self.ended_ms >= 2 * window_ms
        return (self.ends_ms - 2 * window_ms) * 1000 if opened else None

    def __call__(self, keys, args):
        command = Redis.command
        ends = command("PEXPIRETIME", keys[-1])
        words = (
            self.wait(self.at_us) if self.at_us else b"",
            OPEN,
            ends,
            command("EVALSHA", self.digest, len(keys), *keys, *args),
            TIME,
            self.sequence,
            ends,
            CLOSE,
        )
        self.redis.socket.sendall(b"".join(words))
        # what waits, MULTI and what it queues
        for _ in range(8 if self.at_us else 7):
            self.redis.reply()
        replies = self.redis.reply()
        self.before, self.ended_ms, reply, self.after, self.number, self.ends_ms = replies
        return reply


def us(stamp):
    return int(stamp[0]) * 1_000_000 + int(stamp[1])


def main():
    port, strategy, *numbers, prefix = sys.argv[1:]
    limit, window_ms, seed, decisions, keys = map(int, numbers)
    storage = RedisStorage(f"redis://127.0.0.1:{port}")
    # the script of each strategy
    name = {
        "fixed-window": "lua_incr_expire",
        "moving-window": "lua_acquire_moving_window",
        "sliding-window-counter": "lua_acquire_sliding_window",
    }[strategy]
    observed = Observed(int(port), getattr(storage, name), f"{prefix}sequence")
    counts = []

    def script(keys, args):
        counts.append(observed(keys, args))
        return counts[-1]

    setattr(storage, name, script)
    limiter = STRATEGIES[strategy](storage)

    class Item(RateLimitItemPerSecond):
        def get_expiry(self):
            return window_ms // 1000 if window_ms % 1000 == 0 else window_ms / 1000

    item = Item(limit)
    injected = strategy == "moving-window"
    if injected:
        limits.storage.redis.time = Clock
    rng = random.Random(seed)
    window_us = window_ms * 1000
    schedule = injected_schedule if injected else real_schedule
    lines = []

    def hit(key, cost=None, at_us=None):
        """Asks, right at an instant if one is given: when Redis was asked, and when the key's window ends."""
        cost = cost or (1 if rng.random() < 0.9 else rng.randint(1, limit + 1))
        if strategy == "sliding-window-counter":
            # keys are left behind after some windows, those that drifted too
            key = f"{key}.{time.time_ns() // (8_000_000 * window_ms)}"
        observed.at_us = at_us
        verdict = "pass" if limiter.hit(item, f"{prefix}{key}", cost=cost) else "refuse"
        before_us, after_us = us(observed.before), us(observed.after)
        at = f"{before_us}..{after_us}"
        lost = after_us - before_us > HELD_UP_US
        ends_us = observed.ends_ms * 1000
        if injected:
            at, lost = Clock.now_us, False
        elif strategy == "sliding-window-counter":
            at = observed.opened_us(window_ms) or at
            ends_us -= window_us
            lost = lost or observed.drift_ms(window_ms) > 0
        elif counts[-1] == cost:
            # its first count opened the window
            at = ends_us - window_us
        verdict = "lost" if lost else verdict
        lines.append(f"{observed.number} {at} {key} {cost} {verdict}\n")
        return before_us, ends_us

    asks = schedule(rng, keys, limit, window_us, hit)
    while len(lines) < decisions:
        next(asks)
    sys.stdout.writelines(lines)


def injected_schedule(rng, keys, limit, window_us, hit):
    """Often aims at the last, the first and the very instant at which a logged request leaves."""
    asked = [[0] for _ in range(keys)]
    while True:
        key = int(keys * rng.random() ** 2)
        ends = [t + window_us for t in asked[key] if t + window_us > Clock.now_us + 1]
        kind = rng.random()
        if kind < 0.6 and ends:
            Clock.now_us = max(Clock.now_us, rng.choice(ends) + rng.choice((-1, 0, 0, 1, 1)))
        elif kind < 0.9:
            Clock.now_us += int(window_us * rng.random() ** 3 / limit) + 1
        else:
            Clock.now_us += int(window_us * 3 * rng.random())
        for _ in range(rng.choice((1, 1, 2, limit, limit + 2))):
            hit(key)
            yield
        asked[key] = [*asked[key][-6:], Clock.now_us]


def real_schedule(rng, keys, limit, window_us, hit):
    """Asks any key while no window ends. Fills one whose window does, asks it again and again until its end, and
    right in the first millisecond after."""
    ends = []
    known = {}
    lead_us = LEAST_LEAD_US

    def now():
        return time.time_ns() // 1000

    def ask(key, *how):
        asked_us, end_us = hit(key, *how)
        if known.get(key) != end_us:
            known[key] = end_us
            heapq.heappush(ends, (end_us, key))
        return asked_us

    while True:
        now_us, key = now(), None
        while ends and ends[0][0] < now_us + lead_us + 500:
            end_us, due = heapq.heappop(ends)
            # some windows are left alone, so that keys fall idle
            if end_us > now_us - 500 and rng.random() < 0.8:
                key = due
                break
        if key is None:
            key = rng.randrange(keys)
            for _ in range(rng.choice((1, 1, 2, limit + 1))):
                ask(key)
                yield
            continue
        time.sleep(max(0, end_us - now_us - 500) / 1_000_000)
        first_us = end_us + 1_000
        ask(key, limit)
        yield
        for _ in range(10):
            if now() > first_us - lead_us:
                break
            ask(key)
            yield
        late = ask(key, 1, first_us) >= first_us + 1_000
        yield
        lead_us = max(LEAST_LEAD_US, min(MOST_LEAD_US, lead_us + (200 if late else -50)))


main()
