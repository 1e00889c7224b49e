"""A connection to Redis, for adapters that must be quick or ask many things at once."""

import socket


class Redis:
    """A connection that speaks Redis' own protocol, many commands at a time."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb", 1 << 16)

    @staticmethod
    def command(*words):
        parts = [b"*%d\r\n" % len(words)]
        for word in words:
            word = word if isinstance(word, bytes) else str(word).encode()
            parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
        return b"".join(parts)

    def reply(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b":":
            return int(rest)
        if kind == b"+":
            return rest.decode()
        if kind == b"$":
            length = int(rest)
            return None if length < 0 else self.file.read(length + 2)[:-2].decode()
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        raise RuntimeError(line)
