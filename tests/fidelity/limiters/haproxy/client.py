"""A client process of a HAProxy that refuses what exceeds a rate: asks it by a schedule of bursts, gaps and
floods and prints the decisions as the answers tell them.

Arguments: PORT PATH SEED DECISIONS KEYS PERIOD_MS
"""

import random
import socket
import sys
import time


def body(file):
    length = None
    while (line := file.readline()) not in (b"\r\n", b""):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return file.read(length).decode()


def main():
    port, path, *numbers = sys.argv[1:]
    seed, decisions, keys, period_ms = map(int, numbers)
    rng = random.Random(seed)
    connection = socket.create_connection(("127.0.0.1", int(port)))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    file = connection.makefile("rb", 1 << 16)
    asks = [
        f"GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Key: {key}\r\n\r\n".encode()
        for key in range(keys)
    ]
    lines = []
    while len(lines) < decisions:
        busy = int(keys * rng.random() ** 2)
        kind = rng.random()
        if kind < 0.2:
            chosen = [busy] * rng.randint(2, 40)
        elif kind < 0.9:
            chosen = [int(keys * rng.random() ** 2) for _ in range(rng.randint(1, 40))]
        else:
            chosen = [busy, int(keys * rng.random())] * rng.randint(10, 30)
        connection.sendall(b"".join(asks[key] for key in chosen))
        for _ in chosen:
            sequence, at, key, weight, verdict, _rate = body(file).split()
            lines.append(f"{sequence} {at} {key} {weight} {verdict}\n")
        if rng.random() < 0.2:
            time.sleep(rng.random() ** 3 * 2.2 * period_ms / 1000)
    sys.stdout.writelines(lines)


main()
