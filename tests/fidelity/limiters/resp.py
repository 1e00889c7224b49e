"""A connection to Redis, for adapters that must be quick or ask many things at once."""

import os
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

    def load(self, script):
        """The digest by which a script is called from then on."""
        self.socket.sendall(self.command("SCRIPT", "LOAD", script))
        return self.reply()

    def load_file(self, path):
        with open(path, "rb") as file:
            return self.load(file.read())

    def load_wait(self):
        """A function that makes the command by which Redis waits for an instant, microseconds."""
        digest = self.load_file(os.path.join(os.path.dirname(__file__), "wait.lua"))
        return lambda at_us: self.command("EVALSHA", digest, 0, at_us)

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
