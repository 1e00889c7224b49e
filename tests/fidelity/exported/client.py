"""Asks an exported script in a real Redis, limit by limit, and prints what it decided.

Arguments: PORT SCRIPT SEED CLOCK, then plans NAME:KEYS:GAP_US:WEIGHTS:MEMBERS:DECISIONS:RESPONSES as the test writes
them. CLOCK is "real", or the microsecond at which a clock begins that the test sets: its script takes the time from
its last two arguments. A line for each decision: NAME, number of the weight, key, the time of the answer, then the six
numbers that the script answers, and when a response that counts was counted (or -).
"""

import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../limiters"))

from resp import Redis  # noqa: E402


class Clock:
    """The instants at which a limit is asked: real ones, or such as lie at edges."""

    def __init__(self, rng, start, gap_us):
        self.rng, self.now, self.gap_us = rng, start, gap_us

    def step(self):
        rng, gap = self.rng, self.gap_us
        tick = 1_000 if gap >= 2_000 else 1
        kind = rng.random()
        if kind < 0.5:
            self.now += rng.choice((0, 1, 7, tick // 3 + 1))
        elif kind < 0.8:
            self.now += rng.randrange(gap // 10 + 2)
        elif kind < 0.9:
            # around a whole length from here, to the instant
            self.now += max(gap + rng.choice((-tick, -1, 0, 1, tick)), 0)
        elif kind < 0.96:
            # around the next line of the clock
            self.now += max(gap - self.now % gap + rng.choice((-tick, -1, 0, 1)), 0)
        else:
            self.now += rng.randrange(4 * gap)

    def pause(self):
        if self.now is None:
            if self.rng.random() < 0.2:
                time.sleep(self.rng.random() * 2 * min(self.gap_us, 50_000) / 1_000_000)
        else:
            self.step()

    def words(self):
        if self.now is None:
            return ()
        return (self.now // 1_000_000, self.now % 1_000_000)


def ask(redis, digest, rng, start, plan, out):
    name, keys, gap_us, weights, members, decisions, responses = plan.split(":")
    keys, gap_us, decisions = int(keys), int(gap_us), int(decisions)
    weights = weights.split(",")
    groups = members.split(",") if members else []
    unit = "group:" + name if groups else name
    clock = Clock(rng, start, gap_us)
    waiting = []

    def command(key, weight, *more):
        names = [f"{name}:{{{key}}}"] if not groups else [
            f"{member}:{{{'all' if member.endswith('-all') else key}}}" for member in groups
        ]
        return redis.command(
            "EVALSHA", digest, len(names), *names, unit, *[weight] * len(names), *more, *clock.words()
        )

    done = 0
    while done < decisions:
        kind = rng.random()
        busy = int(keys * rng.random() ** 2)
        if kind < 0.3:
            chosen = [busy] * rng.randint(2, 20)
        elif kind < 0.9:
            chosen = [int(keys * rng.random() ** 2) for _ in range(rng.randint(1, 40))]
        else:
            chosen = [busy, int(keys * rng.random())] * rng.randint(10, 40)
        sent = []
        batch = []
        for key in chosen:
            which = 0 if rng.random() < 0.6 else rng.randrange(len(weights))
            sent.append((which, key))
            batch.append(command(key, weights[which]))
            if start is not None and rng.random() < 0.4:
                clock.step()
        redis.socket.sendall(b"".join(batch))
        for which, key in sent:
            answer = redis.reply()
            line = [name, which, key, answer[4], *answer]
            if responses and answer[0] == 1 and rng.random() < 0.7:
                waiting.append(line)
            else:
                out.append(line + ["-"])
        done += len(chosen)
        clock.pause()
        if waiting and rng.random() < 0.6:
            rng.shuffle(waiting)
            count = rng.randint(1, len(waiting))
            if start is not None:
                clock.now += 1
            for line in waiting[:count]:
                redis.socket.sendall(command(line[2], weights[0], "charge"))
                out.append(line + [redis.reply()[4]])
                if start is not None:
                    clock.now += 1
            del waiting[:count]
    for line in waiting:
        out.append(line + ["-"])


def main():
    port, script, seed, clock, *plans = sys.argv[1:]
    redis = Redis(int(port))
    with open(script, "rb") as file:
        redis.socket.sendall(redis.command("SCRIPT", "LOAD", file.read()))
    digest = redis.reply()
    out = []
    for number, plan in enumerate(plans):
        rng = random.Random(f"{seed}:{number}")
        ask(redis, digest, rng, None if clock == "real" else int(clock), plan, out)
    sys.stdout.writelines(" ".join(map(str, line)) + "\n" for line in out)


main()
