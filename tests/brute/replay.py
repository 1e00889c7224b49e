"""A second, independent replay of an access log through a rate-limit policy.

Written from the description of the limiters alone, one request at a time, with plain lists: the
shortest code that can be right. It shares nothing with the engine, so where both give the same
counts, two readings of the same rules agree. Integers only; anything in a policy that is not known
here is an error. Where the description leaves something open, a comment that begins with "Reading:"
names the choice.

Usage: python3 tests/brute/replay.py --policy POLICY.toml --log LOG [--format nginx|alb|elb]
"""

import argparse
import datetime
import heapq
import ipaddress
import json
import re
import sys
import tomllib

SECOND_US = 1_000_000
UNIT_US = {"us": 1, "ms": 1000, "s": SECOND_US, "m": 60 * SECOND_US, "h": 3600 * SECOND_US,
           "d": 86_400 * SECOND_US}
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class PolicyError(Exception):
    """The policy says something that this replay does not know."""


def since_epoch_us(moment):
    return (moment - EPOCH) // datetime.timedelta(microseconds=1)


# ---------------------------------------------------------------------------------------- the log

MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
# blanks or one quote before the line are the wrapping of some writers; what follows the size is
# not needed; a quote inside the request ends it only where status and size follow
COMBINED = re.compile(
    r'[ \t"]*(?P<who>\S+(?: [^\[]*?)?) \[(?P<stamp>[^\]]*)\] "(?P<request>.*?)" (?:\d{3}|-) (?:\d+|-)(?=[ "]|$)')
STAMP = re.compile(r"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)$")
ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?Z$")
ELB = re.compile(r'(?P<stamp>\S+) \S+ (?P<who>\S+) \S+ (?:-?[\d.]+ ){3}\S+ \S+ \S+ \S+ "(?P<request>.*?)"(?= "|$)')
ALB = re.compile(r'[a-z0-9]+ (?P<stamp>\S+) \S+ (?P<who>\S+) \S+ (?:-?[\d.]+ ){3}\S+ \S+ \S+ \S+ "(?P<request>.*?)" ".*?"'
                 r'(?: \S+ \S+ \S+ "[^"]*"(?: "[^"]*" "[^"]*" \S+ (?P<created>\S+))?)?')


def combined_us(text):
    found = STAMP.match(text)
    if not found or found[2] not in MONTHS:
        return None
    day, month, year, hour, minute, second, sign, off_h, off_m = found.groups()
    try:
        local = datetime.datetime(int(year), MONTHS.index(month) + 1, int(day), int(hour), int(minute), int(second),
                                  tzinfo=datetime.timezone.utc)
    except ValueError:
        return None
    offset = datetime.timedelta(hours=int(off_h), minutes=int(off_m))
    return since_epoch_us(local - offset if sign == "+" else local + offset)


def iso_us(text):
    found = ISO.match(text or "")
    if not found:
        return None
    year, month, day, hour, minute, second, fraction = found.groups()
    try:
        moment = datetime.datetime(*map(int, (year, month, day, hour, minute, second)), tzinfo=datetime.timezone.utc)
    except ValueError:
        return None
    return since_epoch_us(moment) + int((fraction or "0").ljust(6, "0"))


def address(text):
    """The address, IPv4-mapped IPv6 as IPv4; None for what is none (such a client has no key ip)."""
    try:
        found = ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def normal_path(target):
    """The path a server matches: without scheme, host and query, decoded once, dots and slashes resolved."""
    target = re.sub(r"^[A-Za-z][A-Za-z0-9+.-]*://[^/?]*", "", target)
    path = target.split("?", 1)[0] or "/"
    if not path.startswith("/"):
        return path
    path = re.sub(r"%([0-9A-Fa-f]{2})", lambda found: chr(int(found[1], 16)), path)
    kept, parts = [], path.split("/")
    for part in parts:
        if part == "..":
            kept = kept[:-1]
        elif part not in ("", "."):
            kept.append(part)
    folder = parts[-1] in ("", ".", "..")
    return "/" + "/".join(kept) + ("/" if folder and kept else "")


class Request:
    def __init__(self, arrival_us, line, client, request):
        self.arrival_us, self.line, self.ip = arrival_us, line, address(client)
        # Reading: two or three words whose first is letters are method and path; any other request
        # line (TLS bytes, one word) is still a request, with neither.
        request = re.sub(r"\\x([0-9A-Fa-f]{2})", lambda found: chr(int(found[1], 16)), request)
        words = request.replace('\\"', '"').split(" ")
        known = len(words) in (2, 3) and re.fullmatch(r"[A-Za-z]+", words[0]) and (
            len(words) == 2 or words[2].startswith("HTTP/"))
        self.method = words[0] if known else None
        self.path = normal_path(words[1]) if known else None
        self.refused = self.delayed = False


def read_log(name, form):
    requests = []
    with open(name, "rb") as file:
        lines = file.read().decode("latin-1").split("\n")  # a byte a character: every line can be read
    for number, line in enumerate(lines, 1):
        found = {"nginx": COMBINED, "elb": ELB, "alb": ALB}[form].match(line.rstrip("\r"))
        if not found:
            continue
        words = found["who"].split()
        client = words[0]
        if form == "nginx":
            # some lines have a virtual host (which may be an address as well) before the client
            if len(words) > 3 and address(words[1]) is not None:
                client = words[1]
            arrival = combined_us(found["stamp"])
        else:
            # classic: the stamp is the arrival; application: its creation, the stamp where there is none
            client = client.rsplit(":", 1)[0]
            arrival = iso_us(found["stamp"])
            if form == "alb" and found["created"] is not None:
                arrival = iso_us(found["created"])
        if arrival is not None:
            requests.append(Request(arrival, number, client, found["request"]))
    return sorted(requests, key=lambda request: (request.arrival_us, request.line))


# ------------------------------------------------------------------------------------- algorithms
# Each has ask(key, t, weight) -> None for a refusal, else the delay in µs; and charge(key, t, weight).
# Reading: a request that is not charged leaves no trace in a limiter's state (no window opens or
# moves, no bucket is made), but for the place in nginx's queue.


class Nginx:
    """Excess in thousandths of a request, time in ms."""

    def __init__(self, spec):
        count, per_us = spec["rate"]
        self.rate_m = count * 1000 if per_us == SECOND_US else count * 1000 // 60
        self.burst, self.delay, self.reclaim = spec["burst"], spec["delay"], spec["reclaim"]
        self.state = {}  # key -> (excess, last ms); the key asked longest ago is first

    def excess(self, key, t, weight):
        if key not in self.state:
            # Reading: a request of weight w is w requests at one instant, the first of them free.
            return 1000 * (weight - 1)
        excess, last = self.state[key]
        return max(0, excess - self.rate_m * (t // 1000 - last) // 1000 + 1000 * weight)

    def ask(self, key, t, weight):
        if key in self.state:
            # Reading: "oldest" is asked longest ago, and a refused request counts as asked.
            self.state[key] = self.state.pop(key)
        elif self.reclaim == "busy":
            # Reading: idle since the last charge; the look stops at the first key that must stay.
            for old in list(self.state)[:2]:
                excess, last = self.state[old]
                idle = t // 1000 - last
                if idle < 60_000 or excess - self.rate_m * idle // 1000 > 0:
                    break
                del self.state[old]
        excess = self.excess(key, t, weight)
        if excess > self.burst * 1000:
            return None
        if self.delay is None or excess <= self.delay * 1000:
            return 0
        return (excess - self.delay * 1000) * 1000 // self.rate_m * 1000

    def charge(self, key, t, weight):
        self.state[key] = (self.excess(key, t, weight), t // 1000)


class FixedWindow:
    def __init__(self, spec):
        self.limit, self.window, self.anchor = spec["limit"], spec["window"], spec["anchor"]
        self.boundary = spec.get("boundary")
        self.state = {}  # key -> (window, weights charged in it)

    def current(self, key, t):
        window, weights = self.state.get(key, (None, []))
        if self.anchor == "first-request":
            at_end = self.boundary == "closed" or self.boundary == "until-full" and sum(weights) < self.limit
            inside = window is not None and (t - window < self.window or (at_end and t - window == self.window))
            return (window, weights) if inside else (t, [])
        if self.anchor == "clock":
            now = t // self.window
        else:
            day = EPOCH + datetime.timedelta(microseconds=t)
            now = (day.year, day.month) if self.window == "month" else (day.year, day.month, day.day)
        return (window, weights) if window == now else (now, [])

    def ask(self, key, t, weight):
        return 0 if sum(self.current(key, t)[1]) + weight <= self.limit else None

    def charge(self, key, t, weight):
        window, weights = self.current(key, t)
        self.state[key] = (window, weights + [weight])


class SlidingLog:
    def __init__(self, spec):
        self.limit, self.window, self.closed = spec["limit"], spec["window"], spec["boundary"] == "closed"
        self.state = {}  # key -> [(t, weight)]

    def inside(self, key, t):
        return [event for event in self.state.get(key, [])
                if t - event[0] < self.window or (self.closed and t - event[0] == self.window)]

    def ask(self, key, t, weight):
        return 0 if sum(event[1] for event in self.inside(key, t)) + weight <= self.limit else None

    def charge(self, key, t, weight):
        self.state[key] = self.inside(key, t) + [(t, weight)]


class SlidingCounter:
    def __init__(self, spec):
        self.limit, self.window = spec["limit"], spec["window"]
        self.floored, self.stepped = spec["estimate"] == "floored", spec["anchor"] == "stepped"
        exactly = self.floored and self.stepped
        # HAProxy's windows begin at even milliseconds; those of `limits` on Redis end by Redis' expiry
        self.haproxy, self.redis = exactly and spec["count_refused"], exactly and not spec["count_refused"]
        self.state = {}  # key -> (start of the current window, previous count, current count)

    def even(self, t):
        return t // 2000 * 2000 if self.haproxy else t

    def current(self, key, t):
        aligned = self.even(t) if self.stepped else t // self.window * self.window
        start, previous, current = self.state.get(key, (aligned, 0, 0))
        if self.redis and t - start in (self.window, 2 * self.window):
            return start, previous, current
        # Reading: idle is counted from the start of the current window (as HAProxy and `limits` do),
        # so windows step on by one W or start anew.
        if t - start >= 2 * self.window:
            return aligned, 0, 0
        if t - start >= self.window:
            return self.even(start + self.window), current, 0
        return start, previous, current

    def ask(self, key, t, weight):
        start, previous, current = self.current(key, t)
        left = max(0, self.window - (t - start))
        if self.floored:
            admitted = previous * left // self.window + current + weight <= self.limit
        else:
            admitted = previous * left + (current + weight) * self.window <= self.limit * self.window
        return 0 if admitted else None

    def charge(self, key, t, weight):
        start, previous, current = self.current(key, t)
        self.state[key] = (start, previous, current + weight)


class TokenBucket:
    """Continuous: a token is as many parts as its rate's period has µs, so a µs adds whole parts."""

    def __init__(self, spec):
        if spec["refill"] == "continuous":
            self.parts_per_step, self.parts_per_token = spec["rate"]
            self.step_us = 1
        else:
            self.parts_per_step, self.parts_per_token, self.step_us = spec["fill"], 1, spec["interval"]
        self.full = spec["burst"] * self.parts_per_token
        self.state = {}  # key -> (parts, when they were last filled)

    def filled(self, key, t):
        # Reading: a key's bucket is made, full, by its first charged request, and an interval
        # bucket is filled at that instant + I, + 2 I and so on, full or not.
        parts, last = self.state.get(key, (self.full, t))
        steps = (t - last) // self.step_us
        return min(self.full, parts + steps * self.parts_per_step), last + steps * self.step_us

    def ask(self, key, t, weight):
        return 0 if self.filled(key, t)[0] >= weight * self.parts_per_token else None

    def charge(self, key, t, weight):
        parts, last = self.filled(key, t)
        self.state[key] = (parts - weight * self.parts_per_token, last)


class Gcra:
    """Theoretical arrival time in ns."""

    def __init__(self, spec):
        count, per_us = spec["rate"]
        # Reading: one emission interval is the period divided by the count, truncated to whole ns.
        self.emission = per_us * 1000 // count
        self.burst = spec["burst"] + (1 if spec["burst_is"] == "extra" else 0)
        if self.emission == 0 or self.burst == 0:
            raise PolicyError("gcra: an emission interval under 1 ns, or a total burst of 0")
        self.state = {}  # key -> theoretical arrival time

    def next(self, key, t, weight):
        return max(self.state.get(key, t * 1000), t * 1000) + weight * self.emission

    def ask(self, key, t, weight):
        return 0 if self.next(key, t, weight) - self.burst * self.emission <= t * 1000 else None

    def charge(self, key, t, weight):
        self.state[key] = self.next(key, t, weight)


class Block:
    def __init__(self, _spec):
        self.state = {}

    def ask(self, _key, _t, _weight):
        return None

    def charge(self, key, t, weight):
        pass


ALGORITHMS = {"nginx": Nginx, "fixed-window": FixedWindow, "sliding-log": SlidingLog,
              "sliding-counter": SlidingCounter, "token-bucket": TokenBucket, "gcra": Gcra, "block": Block}

# ------------------------------------------------------------------------------------- the policy


def text(value):
    if not isinstance(value, str) or not value:
        raise PolicyError(f"{value!r}: a text that is not empty is wanted")
    return value


def boolean(value):
    if not isinstance(value, bool):
        raise PolicyError(f"{value!r}: true or false is wanted")
    return value


def whole(least):
    def read(value):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise PolicyError(f"{value!r}: a whole number of at least {least} is wanted")
        return value
    return read


def one_of(*words):
    def read(value):
        if value not in words:
            raise PolicyError(f"{value!r}: one of {', '.join(words)} is wanted")
        return value
    return read


def duration(value):
    found = re.fullmatch(r"(\d+)(us|ms|s|m|h|d)", text(value))
    if not found or int(found[1]) == 0:
        raise PolicyError(f"{value!r}: a duration as 30s, 10m or 1h is wanted")
    return int(found[1]) * UNIT_US[found[2]]


def rate(value):
    found = re.fullmatch(r"(\d+)r?/([smhd])", text(value))
    if not found or int(found[1]) == 0:
        raise PolicyError(f"{value!r}: a rate as 10r/s or 8r/m is wanted")
    return int(found[1]), UNIT_US[found[2]]


def nginx_rate(value):
    if not re.fullmatch(r"\d+r/[sm]", text(value)):
        raise PolicyError(f"{value!r}: nginx knows r/s and r/m only")
    return rate(value)


def nginx_delay(value):
    """How many requests of excess are not delayed; None where none is."""
    return {"all": 0, "none": None}[value] if value in ("all", "none") else whole(0)(value)


def window(value):
    return value if value in ("day", "month") else duration(value)


def instant(value):
    # Reading: a date, or a time without an offset, is one in UTC.
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime.datetime):
        raise PolicyError(f"{value!r}: a date or a time is wanted")
    return since_epoch_us(value if value.tzinfo else value.replace(tzinfo=datetime.timezone.utc))


def key_parts(value):
    parts = value if isinstance(value, list) else [value]
    for part in parts:
        found = re.fullmatch(r"ip(?:/(\d{1,3}))?|global", text(part))
        if not found or int(found[1] or 0) > 128:
            raise PolicyError(f"{part!r}: ip, ip/N or global is wanted")
    if not parts:
        raise PolicyError("key: at least one is wanted")
    return parts


def pattern(value):
    # Reading: `**` stands for any text with or without slashes, empty too; `*` for any within a
    # segment, empty too; {name} for one segment that is not empty. `/a/**` does not match `/a`.
    out = ""
    for piece in re.split(r"(\*\*|\*|\{[^{}/]+\})", text(value)):
        if piece == "**":
            out += r"[\s\S]*"
        elif piece == "*":
            out += "[^/]*"
        elif piece.startswith("{"):
            out += "[^/]+"
        else:
            out += re.escape(piece.encode().decode("latin-1"))
    return re.compile(out)


def match(value):
    if not isinstance(value, dict) or set(value) - {"method", "path"}:
        raise PolicyError(f"{value!r}: a match by method and path is wanted")
    for words in value.values():
        if not isinstance(words, list) or not words:
            raise PolicyError(f"{words!r}: a list that is not empty is wanted")
    return ([text(word) for word in value["method"]] if "method" in value else None,
            [pattern(word) for word in value["path"]] if "path" in value else None)


COMMON = {"name": text, "match": match, "key": key_parts, "algorithm": one_of(*ALGORITHMS), "at": text, "group": text,
          "charge": one_of("none", "all"), "mode": one_of("enforce", "shadow"), "expires": instant,
          "missing_key": one_of("skip", "shared", "refuse"), "ipv6_prefix": whole(1), "weight": whole(1),
          "tick": duration, "ban": duration, "ban_extends": boolean, "ban_clears": boolean}
# these decide nothing: what is raised, answered or silenced
WITHOUT_EFFECT = {"alarm": whole(1), "retry_after": text, "allow": lambda value: value}
COUNTING = {"limit": whole(0), "count_refused": boolean}
OWN = {
    "nginx": {"rate": nginx_rate, "burst": whole(0), "delay": nginx_delay, "reclaim": one_of("busy", "none")},
    "fixed-window": COUNTING | {"window": window, "anchor": one_of("clock", "first-request", "calendar"),
                                "timezone": one_of("UTC"), "boundary": one_of("open", "closed", "until-full")},
    "sliding-log": COUNTING | {"window": duration, "boundary": one_of("open", "closed")},
    "sliding-counter": COUNTING | {"window": duration, "anchor": one_of("clock", "stepped"), "timezone": one_of("UTC"),
                                   "estimate": one_of("interpolated", "floored")},
    "token-bucket": {"refill": one_of("continuous", "interval"), "rate": rate, "burst": whole(1), "interval": duration,
                     "fill": whole(1)},
    "gcra": {"rate": rate, "burst": whole(0), "burst_is": one_of("total", "extra")},
    "block": {},
}
REQUIRED = {"nginx": ["rate", "burst"], "fixed-window": ["limit", "window", "anchor"],
            "sliding-log": ["limit", "window", "count_refused"],
            "sliding-counter": ["limit", "window", "anchor", "estimate", "count_refused"],
            "token-bucket": ["burst"], "gcra": ["rate", "burst", "burst_is"], "block": []}
DEFAULTS = {"nginx": {"delay": 0, "reclaim": "busy"}, "sliding-log": {"boundary": "open"},
            "token-bucket": {"refill": "continuous"}}


def check(spec, written):
    """What belongs together, beyond the type of each key."""
    algorithm = spec["algorithm"]
    needed, unwanted = list(REQUIRED[algorithm]), []
    if algorithm == "fixed-window":
        (needed if spec.get("anchor") == "first-request" else unwanted).append("boundary")
        if spec.get("anchor") == "first-request":
            unwanted.append("timezone")
        if spec["weight"] > 1:
            needed.append("count_refused")
        if (spec.get("window") in ("day", "month")) != (spec.get("anchor") == "calendar"):
            raise PolicyError("day and month are the windows of a calendar, and its only ones")
    if algorithm == "sliding-counter" and spec.get("anchor") == "stepped":
        unwanted.append("timezone")
    if algorithm == "token-bucket":
        by_interval = spec["refill"] == "interval"
        (needed if by_interval else unwanted).extend(["interval", "fill"])
        (unwanted if by_interval else needed).append("rate")
    if spec["ipv6_prefix"] > 128:
        raise PolicyError("ipv6_prefix: at most 128")
    if "ban" not in written:
        unwanted.extend(["ban_extends", "ban_clears"])
    if "group" not in written:
        unwanted.append("charge")
    for key in needed:
        if key not in spec:
            raise PolicyError(f"{key} is wanted")
    for key in unwanted:
        if key in written:
            raise PolicyError(f"{key} does not belong here")


class Limit:
    def __init__(self, table):
        algorithm = one_of(*ALGORITHMS)(table.get("algorithm"))
        readers = COMMON | WITHOUT_EFFECT | OWN[algorithm]
        for key in ("name", "key"):
            if key not in table:
                raise PolicyError(f"{key} is wanted")
        for key in table:
            if key not in readers:
                raise PolicyError(f"{key} is not known here")
        # HAProxy is a counter that is floored, steps and counts refusals, on a clock of milliseconds
        words = (table.get("estimate"), table.get("anchor"), table.get("count_refused"))
        haproxy = algorithm == "sliding-counter" and words == ("floored", "stepped", True)
        spec = {"match": (None, None), "at": "", "group": None, "charge": "none", "mode": "enforce", "expires": None,
                "missing_key": "skip", "ipv6_prefix": 64, "weight": 1, "tick": 1000 if algorithm == "nginx" or haproxy else 1,
                "ban": None, "ban_extends": False, "ban_clears": False}
        spec |= DEFAULTS.get(algorithm, {})
        spec |= {key: readers[key](value) for key, value in table.items()}
        check(spec, table)
        self.spec, self.limiter, self.banned_until, self.keys_refused = spec, ALGORITHMS[algorithm](spec), {}, set()
        self.name, self.weight, self.enforces = spec["name"], spec["weight"], spec["mode"] == "enforce"
        # Reading: a fixed window that does not say counts no refused ones (a ban can outlive its window)
        self.count_refused = spec.get("count_refused", False)
        # Reading: nginx's limits without `at` are of one place as well
        self.group = ("group", spec["group"]) if spec["group"] else ("place", spec["at"]) if algorithm == "nginx" else None
        self.asked = self.refused = self.delayed = self.missing_key = 0

    def concerns(self, request, at_us):
        # Reading: what counts for `expires` is when the request reaches the limit.
        methods, paths = self.spec["match"]
        return ((self.spec["expires"] is None or at_us < self.spec["expires"])
                and (methods is None or request.method in methods)
                and (paths is None or request.path is not None and any(path.fullmatch(request.path) for path in paths)))

    def key_of(self, request):
        parts = []
        for part in self.spec["key"]:
            if part == "global":
                parts.append(part)
                continue
            if request.ip is None:
                return None
            # Reading: a length up to 32 is one of IPv4, and IPv6 keeps ipv6_prefix; a longer one is
            # of IPv6, and IPv4 addresses stay whole.
            bits = int(part[3:] or 0) if part != "ip" else 0
            if request.ip.version == 4:
                length = bits if part != "ip" and bits <= 32 else 32
            else:
                length = bits if bits > 32 else self.spec["ipv6_prefix"]
            parts.append(ipaddress.ip_network((request.ip, length), strict=False))
        return tuple(parts)

    def verdict(self, key, t):
        """(refused, by a running ban, delay in µs). A key None has none and is to be refused."""
        if key is None:
            return True, False, 0
        # Reading: a ban runs on the limit's own clock, so from the floored arrival.
        if t < self.banned_until.get(key, t):
            return True, True, 0
        delay = self.limiter.ask(key, t, self.weight)
        return (True, False, 0) if delay is None else (False, False, delay)

    def punish(self, key, t, banned):
        # Reading: a request refused by a running ban starts none, but for ban_extends; ban_clears
        # empties the state when a ban starts, after the refused request was counted, and not when
        # it is extended.
        if self.spec["ban"] is None or key is None or (banned and not self.spec["ban_extends"]):
            return
        self.banned_until[key] = t + self.spec["ban"]
        if self.spec["ban_clears"] and not banned:
            self.limiter.state.pop(key, None)


def read_policy(name):
    with open(name, "rb") as file:
        return make_policy(tomllib.load(file))


def make_policy(tree):
    """The groups in order; a limit that has none is alone in its own."""
    if set(tree) - {"name", "limit"} or "name" not in tree:
        raise PolicyError("a policy has a name and limits, nothing else")
    text(tree["name"])
    groups, seen, names = [], set(), set()
    for table in tree.get("limit", []):
        try:
            limit = Limit(table)
        except PolicyError as error:
            raise PolicyError(f"limit {table.get('name')!r}: {error}") from None
        if limit.name in names:
            raise PolicyError(f"limit {limit.name!r}: there are two of that name")
        names.add(limit.name)
        if limit.group and groups and groups[-1][0].group == limit.group:
            if groups[-1][0].spec["charge"] != limit.spec["charge"]:
                raise PolicyError(f"limit {limit.name!r}: one group, two ways to charge")
            groups[-1].append(limit)
            continue
        if limit.group in seen:
            # Reading: this holds for nginx's groups by place too.
            raise PolicyError(f"limit {limit.name!r}: the members of a group are adjacent")
        groups.append([limit])
        if limit.group:
            seen.add(limit.group)
    return groups


# ------------------------------------------------------------------------------------- the replay

SHARED = ("shared",)


def ask_group(group, request, at_us):
    """Asks all members that concern the request; returns (refused, delay in µs)."""
    asked = []
    for limit in group:
        if not limit.concerns(request, at_us):
            continue
        key = limit.key_of(request)
        if key is None:
            limit.missing_key += 1
            if limit.spec["missing_key"] == "skip":
                continue
            if limit.spec["missing_key"] == "shared":
                key = SHARED
        # Reading: a request without the key that is refused for it counts as asked and as refused.
        limit.asked += 1
        t = at_us // limit.spec["tick"] * limit.spec["tick"]
        asked.append((limit, key, t, *limit.verdict(key, t)))
        # a real nginx asks no further once a member refuses, so those after it are not even asked
        if limit.group and limit.spec["charge"] == "none" and asked[-1][3] and limit.enforces:
            break
    # Reading: a limit in shadow mode decides and is charged as if it enforced, but what it would
    # refuse or delay touches neither the request nor the other members.
    refused = any(own for limit, _, _, own, _, _ in asked if limit.enforces)
    longest = 0
    for limit, key, t, own, banned, delay in asked:
        if own:
            # Reading: every member that refuses counts it, shadow ones too; the shared bucket is
            # one key, and a request refused for want of a key has none.
            limit.refused += 1
            if key is not None:
                limit.keys_refused.add(key)
        elif delay > 0 and not refused:
            # Reading: every member that delays counts it, though only the longest delay is kept.
            limit.delayed += 1
            if limit.enforces:
                longest = max(longest, delay)
        charged = not own or limit.count_refused
        if limit.group and limit.spec["charge"] == "none":
            # Reading: charged only if all pass, hence not for refused ones that would count either.
            charged = not own and not refused
        if charged and key is not None:
            limit.limiter.charge(key, t, limit.weight)
        if own:
            limit.punish(key, t, banned)
    return refused, longest


def replay(groups, requests):
    # at one instant in order of original arrival, then line; the index of the group is never compared
    events = [(request.arrival_us, request.arrival_us, request.line, 0, request) for request in requests]
    heapq.heapify(events)
    while events:
        at_us, arrival_us, line, first, request = heapq.heappop(events)
        for index in range(first, len(groups)):
            refused, delay = ask_group(groups[index], request, at_us)
            if refused:
                request.refused = True
                break
            if delay > 0:
                request.delayed = True
                heapq.heappush(events, (at_us + delay, arrival_us, line, index + 1, request))
                break
    limits = [limit for group in groups for limit in group]
    return {
        "requests": len(requests),
        "refused": sum(request.refused for request in requests),
        # Reading: a request that was delayed and refused later on is a refused one, not a delayed one.
        "delayed": sum(request.delayed and not request.refused for request in requests),
        "limits": [{"name": limit.name, "asked": limit.asked, "refused": limit.refused, "delayed": limit.delayed,
                    "missing_key": limit.missing_key, "keys_refused": len(limit.keys_refused)} for limit in limits],
    }


def main():
    parser = argparse.ArgumentParser(description="Replays a log through a policy by brute force.")
    parser.add_argument("--policy", required=True)
    parser.add_argument("--log", required=True)
    parser.add_argument("--format", choices=["nginx", "alb", "elb"], default="nginx")
    chosen = parser.parse_args()
    try:
        groups = read_policy(chosen.policy)
    except (PolicyError, tomllib.TOMLDecodeError) as error:
        sys.exit(f"{chosen.policy}: {error}")
    json.dump(replay(groups, read_log(chosen.log, chosen.format)), sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
