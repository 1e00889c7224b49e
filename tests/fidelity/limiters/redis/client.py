"""A client process of a limiter that is a Lua script in Redis: asks it by a schedule of bursts, gaps and
floods and prints what it decided.

Arguments: PORT SCRIPT SEED DECISIONS KEYS PREFIX GAP_US then the script's own ARGV. The script is given a key
and the name of the sequence and returns (sequence, microseconds, "exact" or "open", verdict). Where it
says "open", Redis may have decided at any instant from the TIME that this connection was told right
before the script.
"""

import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

from resp import Redis  # noqa: E402


def main():
    port, script, seed, decisions, keys, prefix, gap_us, *argv = sys.argv[1:]
    seed, decisions, keys, gap_us = int(seed), int(decisions), int(keys), int(gap_us)
    rng = random.Random(seed)
    redis = Redis(int(port))
    with open(script, "rb") as file:
        redis.socket.sendall(redis.command("SCRIPT", "LOAD", file.read()))
    digest = redis.reply()
    now = redis.command("TIME")
    asks = [
        now + redis.command("EVALSHA", digest, 2, f"{prefix}{key}", f"{prefix}sequence", *argv)
        for key in range(keys)
    ]
    lines = []
    while len(lines) < decisions:
        # some keys are busier than others
        busy = int(keys * rng.random() ** 2)
        kind = rng.random()
        if kind < 0.25:
            chosen = [busy] * rng.randint(2, 40)
        elif kind < 0.9:
            chosen = [int(keys * rng.random() ** 2) for _ in range(rng.randint(1, 60))]
        else:
            # a flood of one key over the end of its window
            chosen = [busy, int(keys * rng.random())] * rng.randint(20, 60)
        redis.socket.sendall(b"".join(asks[key] for key in chosen))
        for key in chosen:
            seconds, microseconds = redis.reply()
            sequence, told_us, clock, verdict = redis.reply()
            before_us = int(seconds) * 1_000_000 + int(microseconds)
            at = told_us if clock == "exact" else f"{before_us}..{told_us}"
            lines.append(f"{sequence} {at} {key} 1 {verdict}\n")
        if rng.random() < 0.2:
            time.sleep(rng.random() * 2 * gap_us / 1_000_000)
    sys.stdout.writelines(lines)


main()
