"""One strategy of `limits` in memory, on a clock that is told what time it is: asks by a schedule that often
aims at the last, the first and the very instant of a window's end, and prints what was decided.

Arguments: STRATEGY LIMIT WINDOW_S SEED DECISIONS KEYS GRID_US OPEN_US. Times are multiples of the grid. The
library computes with floating seconds: where that is not exact, an interval of so many microseconds to
either side is printed as the time that the limiter saw.
"""

import random
import sys
import types

import limits
import limits.storage.memory
from limits.limits import RateLimitItemPerSecond
from limits.strategies import STRATEGIES

START_US = 1_790_000_000 * 1_000_000


class Clock:
    """Stands in for the module `time` of the storage."""

    now_us = START_US

    @classmethod
    def time(cls):
        return cls.now_us / 1_000_000


class Idle:
    """Stands in for the timer by which the storage tidies up in another thread: it would look at the clock
    at instants that no schedule repeats."""

    def __init__(self, *_):
        pass

    def start(self):
        pass

    def is_alive(self):
        return True


def main():
    strategy, *numbers = sys.argv[1:]
    limit, window_s, seed, decisions, keys, grid_us, open_us = map(int, numbers)
    module = limits.storage.memory
    module.time = Clock
    module.threading = types.SimpleNamespace(Timer=Idle, RLock=module.threading.RLock)
    limiter = STRATEGIES[strategy](limits.storage.MemoryStorage())
    item = RateLimitItemPerSecond(limit, window_s)
    rng = random.Random(seed)
    window = window_s * 1_000_000 // grid_us
    now = START_US // grid_us
    # when each key was asked lately, grid steps
    asked = [[now] for _ in range(keys)]
    lines = []
    while len(lines) < decisions:
        key = int(keys * rng.random() ** 2)
        kind = rng.random()
        if kind < 0.55:
            # around the end of a window that a recent request may have opened, or was logged in
            ends = [t + window for t in asked[key] if t + window > now + 1]
            if rng.random() < 0.3:
                ends.append((now // window + 1) * window)
            if ends:
                now = max(now, rng.choice(ends) + rng.choice((-1, 0, 0, 1, 1)))
        elif kind < 0.9:
            now += int(window * rng.random() ** 3 / limit) + 1
        elif kind < 0.93:
            now += int(window * 3 * rng.random())
        Clock.now_us = now * grid_us
        for _ in range(rng.choice((1, 1, 2, limit, limit + 2))):
            cost = 1 if rng.random() < 0.8 else rng.randint(1, limit + 1)
            verdict = "pass" if limiter.hit(item, str(key), cost=cost) else "refuse"
            at = Clock.now_us
            told = f"{at - open_us}..{at + open_us}" if open_us else at
            lines.append(f"{told} {key} {cost} {verdict}\n")
        asked[key] = [*asked[key][-6:], now]
    sys.stdout.writelines(lines)


main()
