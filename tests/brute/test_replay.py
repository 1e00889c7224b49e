"""Tiny logs whose outcome was worked out by hand, most of them at a boundary.

python3 -m unittest discover -s tests/brute
"""

import datetime
import os
import tempfile
import tomllib
import unittest

import replay

S = 1_000_000


def decide(limits, *arrivals, clients=None, lines=("GET / HTTP/1.1",)):
    """What became of each request, in order: p(ass), d(elayed), r(efused); and the counts."""
    requests = [replay.Request(at, number, clients[number] if clients else "192.0.2.1", lines[number % len(lines)])
                for number, at in enumerate(arrivals)]
    result = replay.replay(replay.make_policy(tomllib.loads('name = "p"\n' + limits)), requests)
    return "".join("r" if one.refused else "d" if one.delayed else "p" for one in requests), result


def limit(algorithm, more, name="one", key='"ip"'):
    return f'[[limit]]\nname = "{name}"\nkey = {key}\nalgorithm = "{algorithm}"\n{more}\n'


class Nginx(unittest.TestCase):
    def test_excess_equal_to_burst_passes_and_one_more_is_refused(self):
        policy = limit("nginx", 'rate = "1r/s"\nburst = 2\ndelay = "none"')
        self.assertEqual(decide(policy, 0, 0, 0, 0)[0], "pppr")
        # the refusal changed nothing: 999 ms leak 999, so 2000 - 999 + 1000 = 2001 > 2000; 1000 ms leak enough
        self.assertEqual(decide(policy, 0, 0, 0, 999_999, 1_000_000)[0], "ppprp")

    def test_rate_per_minute_is_truncated(self):
        # 1r/m is 16 thousandths: 62 s leak 992 (8 left over), 62.5 s leak 1000
        policy = limit("nginx", 'rate = "1r/m"\nburst = 0\ndelay = "none"')
        self.assertEqual(decide(policy, 0, 62 * S)[0], "pr")
        self.assertEqual(decide(policy, 0, 62_499_999)[0], "pr")
        self.assertEqual(decide(policy, 0, 62_500_000)[0], "pp")

    def test_delay_of_k_is_of_what_exceeds_k(self):
        # 5r/m is 83: the second has excess 1000 (passes), the third 2000: 1000 * 1000 / 83 = 12048 ms late,
        # so it is the fourth to reach the second limit, which knows it as of 12.048 s
        policy = limit("nginx", 'rate = "5r/m"\nburst = 5\ndelay = 1')
        late = policy + limit("fixed-window", 'anchor = "clock"\nlimit = 2\nwindow = "12s"', "late")
        self.assertEqual(decide(late, 0, 0, 0)[0], "ppd")
        barely = policy + limit("fixed-window", 'anchor = "clock"\nlimit = 2\nwindow = "12049ms"', "late")
        found, counts = decide(barely, 0, 0, 0)
        self.assertEqual((found, counts["delayed"], counts["limits"][0]["delayed"]), ("ppr", 0, 1))

    def test_a_delayed_request_comes_before_one_that_arrives_when_it_gets_there(self):
        # 1r/s, all delayed: the second reaches the later limit at 1 s, as does client 2, whose arrival is later
        policy = limit("nginx", 'rate = "1r/s"\nburst = 5') + limit(
            "fixed-window", 'anchor = "clock"\nlimit = 1\nwindow = "1s"', "late", '"global"')
        # (its line is not: arrival goes first)
        clients = ["192.0.2.2", "192.0.2.1", "192.0.2.1"]
        self.assertEqual(decide(policy, S, 0, 0, clients=clients)[0], "rpd")

    def test_of_two_delayed_to_one_instant_the_earlier_arrival_goes_first(self):
        # both are due at 1 s: one is 1 s late, the other arrived at 0.5 s with excess 500
        policy = limit("nginx", 'rate = "1r/s"\nburst = 5') + limit(
            "fixed-window", 'anchor = "clock"\nlimit = 1\nwindow = "1s"\nmatch = { path = ["/x"] }', "late", '"global"')
        clients = ["192.0.2.2", "192.0.2.2", "192.0.2.1", "192.0.2.1"]
        self.assertEqual(decide(policy, 0, S // 2, 0, 0, clients=clients, lines=("GET / HTTP/1.1", "GET /x HTTP/1.1"))[0], "prpd")

    def test_a_delay_under_a_millisecond_is_none(self):
        for rate, found in (("1000r/s", "pd"), ("1001r/s", "pp")):
            self.assertEqual(decide(limit("nginx", f'rate = "{rate}"\nburst = 5'), 0, 0)[0], found)

    def test_busy_reclaim_forgets_what_has_leaked_away(self):
        # client 1 has excess 1000 at 0 s; 1r/m leaks 1024 in 64 s. Kept, the next has excess 976, the one
        # after it 1976; forgotten (client 2 is new at 63 s), they have 0 and 1000
        clients = ["192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.1"]
        for reclaim, found in (("none", "ppppr"), ("busy", "ppppp")):
            policy = limit("nginx", f'rate = "1r/m"\nburst = 1\ndelay = "none"\nreclaim = "{reclaim}"')
            self.assertEqual(decide(policy, 0, 0, 63 * S, 64 * S, 64 * S, clients=clients)[0], found)

    def test_a_refusal_by_one_of_a_place_charges_none(self):
        one = limit("nginx", 'rate = "1r/m"\nburst = 0\ndelay = "none"', "client")
        both = one + limit("nginx", 'rate = "1r/s"\nburst = 1\ndelay = "none"', "all", '"global"')
        clients = ["192.0.2.1", "192.0.2.1", "192.0.2.2"]
        self.assertEqual(decide(both, 0, 0, 0, clients=clients)[0], "prp")
        # the other order, apart: what the first limit charged stays charged
        apart = limit("nginx", 'at = "a"\nrate = "1r/s"\nburst = 1\ndelay = "none"', "all", '"global"') + one
        self.assertEqual(decide(apart, 0, 0, 0, clients=clients)[0], "prr")


class Windows(unittest.TestCase):
    def test_first_request_window_ends_after_or_at_its_length(self):
        for boundary, found in (("closed", "prp"), ("open", "ppr"), ("until-full", "ppr")):
            policy = limit("fixed-window", f'anchor = "first-request"\nboundary = "{boundary}"\nlimit = 1\nwindow = "10s"')
            self.assertEqual(decide(policy, 5 * S, 15 * S, 15 * S + 1)[0], found)
        # the second is the last that the old window has room for; the third finds it full and opens another
        policy = limit("fixed-window", 'anchor = "first-request"\nboundary = "until-full"\nlimit = 2\nwindow = "10s"')
        self.assertEqual(decide(policy, 5 * S, 15 * S, 15 * S, 15 * S, 15 * S)[0], "ppppr")

    def test_clock_and_calendar_windows_begin_at_their_instant(self):
        clock = limit("fixed-window", 'anchor = "clock"\nlimit = 1\nwindow = "10s"')
        self.assertEqual(decide(clock, 9 * S, 10 * S - 1, 10 * S)[0], "prp")
        day = limit("fixed-window", 'anchor = "calendar"\nlimit = 1\nwindow = "day"')
        self.assertEqual(decide(day, 1, 86_400 * S - 1, 86_400 * S)[0], "prp")

    def test_weights_that_are_refused_count_only_if_said_so(self):
        both = limit("fixed-window", 'anchor = "clock"\nlimit = 2\nwindow = "10s"\nweight = 2\ncount_refused = true')
        self.assertEqual(decide(both, 0, 1)[0], "pr")

    def test_an_event_of_exactly_the_window_s_age(self):
        for boundary, found in (("closed", "ppr"), ("open", "ppp")):
            policy = limit("sliding-log", f'boundary = "{boundary}"\nlimit = 2\nwindow = "10s"\ncount_refused = false')
            self.assertEqual(decide(policy, 0, 1, 10 * S)[0], found)

    def test_attempts_that_count_keep_a_client_out(self):
        for counts, found in (("true", "prrr"), ("false", "prpr")):
            policy = limit("sliding-log", f'limit = 1\nwindow = "10s"\ncount_refused = {counts}')
            self.assertEqual(decide(policy, 0, 6 * S, 12 * S, 18 * S)[0], found)

    def test_floored_estimate_admits_what_the_exact_one_refuses(self):
        # 3 in the window before, 1 ms into this one: 3 * 9999 / 10000 = 2.9997, floored 2; limit 3
        for estimate, found in (("interpolated", "pppr"), ("floored", "pppp")):
            policy = limit("sliding-counter", f'estimate = "{estimate}"\nanchor = "clock"\nlimit = 3\nwindow = "10s"\n'
                           "count_refused = false")
            self.assertEqual(decide(policy, 0, 1, 2, 10_001_000)[0], found)

    def test_stepped_windows_step_once_and_then_start_anew(self):
        policy = limit("sliding-counter", 'estimate = "floored"\nanchor = "stepped"\nlimit = 2\nwindow = "10s"\n'
                       "count_refused = true")
        # from 5 s on: at 15 s all of the two before weigh, for a ms of HAProxy's clock; then 1 does; from 25 s on none
        self.assertEqual(decide(policy, 5 * S, 5 * S, 15 * S)[0], "ppr")
        self.assertEqual(decide(policy, 5 * S, 5 * S, 15 * S + 999)[0], "ppr")
        self.assertEqual(decide(policy, 5 * S, 5 * S, 15 * S + 1_000)[0], "ppp")
        self.assertEqual(decide(policy, 5 * S, 5 * S, 25 * S, 25 * S, 25 * S)[0], "ppppr")
        self.assertEqual(decide(policy, 5 * S, 5 * S, 25 * S, 25 * S, 34 * S)[0], "ppppr")
        # a hit at exactly the end of a window belongs to the next one
        self.assertEqual(decide(policy, 5 * S, 15 * S, 24 * S, 24 * S)[0], "pppr")
        # HAProxy's windows begin at even milliseconds: from 4 ms on, not from 5
        self.assertEqual(decide(policy, 5_000, 5_000, 10_004_000)[0], "ppr")
        self.assertEqual(decide(policy, 5_000, 5_000, 10_005_000)[0], "ppp")

    def test_windows_of_limits_on_redis_keep_their_last_instant(self):
        policy = limit("sliding-counter", 'estimate = "floored"\nanchor = "stepped"\nlimit = 2\nwindow = "10s"\n'
                       "count_refused = false")
        self.assertEqual(decide(policy, 5 * S, 5 * S, 15 * S)[0], "ppr")
        self.assertEqual(decide(policy, 5 * S, 5 * S, 15 * S + 1)[0], "ppp")
        self.assertEqual(decide(policy, 5 * S, 5 * S, 25 * S)[0], "ppr")
        self.assertEqual(decide(policy, 5 * S, 5 * S, 25 * S + 1)[0], "ppp")


class Buckets(unittest.TestCase):
    def test_a_token_is_there_at_its_microsecond(self):
        # 3/s: a third of a second is 333 333.3 µs
        policy = limit("token-bucket", 'rate = "3/s"\nburst = 2')
        self.assertEqual(decide(policy, 0, 0, 333_333, 333_334)[0], "pprp")

    def test_interval_buckets_fill_by_steps_from_their_first_request(self):
        policy = limit("token-bucket", 'refill = "interval"\ninterval = "10s"\nfill = 2\nburst = 2')
        self.assertEqual(decide(policy, 5 * S, 5 * S, 15 * S - 1, 15 * S, 15 * S, 15 * S)[0], "pprppr")
        # spent at 14 s, filled at 15 s: the steps do not begin when the bucket is spent
        self.assertEqual(decide(policy, 5 * S, 14 * S, 14 * S, 15 * S)[0], "pprp")

    def test_gcra_counts_burst_as_total_or_extra(self):
        # 3/s is 333 333 333 ns, so the next is admitted at 333 334 µs
        for burst_is, found in (("total", "prrp"), ("extra", "pprp")):
            policy = limit("gcra", f'rate = "3/s"\nburst = 1\nburst_is = "{burst_is}"')
            self.assertEqual(decide(policy, 0, 0, 333_333, 333_334)[0], found)


class Wrappers(unittest.TestCase):
    def test_a_ban_is_half_open(self):
        ban = limit("sliding-log", 'limit = 1\nwindow = "2s"\ncount_refused = false\nban = "10s"')
        self.assertEqual(decide(ban, 0, S, 11 * S - 1, 11 * S)[0], "prrp")
        self.assertEqual(decide(ban + "ban_extends = true", 0, S, 11 * S - 1, 11 * S)[0], "prrr")

    def test_a_ban_clears_what_was_counted(self):
        ban = limit("sliding-log", 'limit = 1\nwindow = "1h"\ncount_refused = true\nban = "10s"')
        self.assertEqual(decide(ban, 0, S, 11 * S)[0], "prr")
        self.assertEqual(decide(ban + "ban_clears = true", 0, S, 11 * S)[0], "prp")

    def test_a_shadow_counts_and_refuses_nothing(self):
        found, counts = decide(limit("block", 'mode = "shadow"'), 0, 1)
        self.assertEqual((found, counts["refused"], counts["limits"][0]["refused"]), ("pp", 0, 2))

    def test_clients_without_an_address(self):
        clients = ["host.example", "other.example", "192.0.2.1"]
        for missing, found, counts in (("skip", "ppp", (1, 0, 2, 0)), ("shared", "prp", (3, 1, 2, 1)),
                                       ("refuse", "rrp", (3, 2, 2, 0))):
            policy = limit("fixed-window", f'anchor = "clock"\nlimit = 1\nwindow = "10s"\nmissing_key = "{missing}"')
            verdicts, result = decide(policy, 0, 1, 2, clients=clients)
            one = result["limits"][0]
            self.assertEqual((verdicts, (one["asked"], one["refused"], one["missing_key"], one["keys_refused"])),
                             (found, counts))

    def test_charge_all_charges_members_whatever_others_say(self):
        for charge, found in (("all", "prr"), ("none", "prp")):
            group = f'group = "g"\ncharge = "{charge}"\nanchor = "clock"\nwindow = "10s"\n'
            policy = limit("fixed-window", group + "limit = 1") + limit("fixed-window", group + "limit = 2", "all", '"global"')
            clients = ["192.0.2.1", "192.0.2.1", "192.0.2.2"]
            self.assertEqual(decide(policy, 0, 0, 0, clients=clients)[0], found)

    def test_keys(self):
        policy = 'anchor = "clock"\nlimit = 1\nwindow = "10s"'
        clients = ["192.0.2.1", "::ffff:192.0.2.1", "192.0.3.1", "2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"]
        for key, found in (('"ip"', "prpprp"), ('"ip/16"', "prrprp"), ('"ip/128"', "prpppp"), ('"global"', "prrrrr"),
                           ('["ip/16", "global"]', "prrprp")):
            self.assertEqual(decide(limit("fixed-window", policy, key=key), *range(6), clients=clients)[0], found)

    def test_expiry_and_tick(self):
        after = replay.since_epoch_us(datetime.datetime(2015, 5, 19, tzinfo=datetime.timezone.utc))
        self.assertEqual(decide(limit("block", "expires = 2015-05-19"), after - 1, after)[0], "rp")
        # floored to seconds, the first is at 0 s and no longer within 1 s of the second
        policy = limit("sliding-log", 'limit = 1\nwindow = "1s"\ncount_refused = false')
        self.assertEqual(decide(policy, 999_999, 1_000_000)[0], "pr")
        self.assertEqual(decide(policy + 'tick = "1s"', 999_999, 1_000_000)[0], "pp")

    def test_match(self):
        lines = ("GET /a/%62/../c?x=/b HTTP/1.1", "POST //a//c HTTP/1.1", "GET /a/c/d HTTP/1.1", r"\x16\x03\x01")
        for match, found in (('path = ["/a/c"]', "rrpp"), ('path = ["/{x}/c"], method = ["GET", "HEAD"]', "rppp"),
                             ('path = ["/a/**"]', "rrrp"), ('path = ["/a/*"]', "rrpp"), ('path = ["/a/*/d", "/b"]', "pprp")):
            self.assertEqual(decide(limit("block", f"match = {{ {match} }}"), 0, 1, 2, 3, lines=lines)[0], found)


class Reading(unittest.TestCase):
    def read(self, form, *lines):
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "log")
            with open(name, "w", encoding="latin-1", newline="") as file:
                file.write("\n".join(lines))
            return [(one.line, one.arrival_us, str(one.ip), one.method, one.path) for one in replay.read_log(name, form)]

    def test_combined(self):
        self.assertEqual(self.read(
            "nginx", '192.0.2.1 - - [01/Jan/1970:01:00:02 +0100] "GET /b?c HTTP/1.1" 200 5 "-" "agent"', "no line",
            'host.example:80 192.0.2.2 - Jo Doe [01/Jan/1970:00:00:01 +0000] "say "x" 200 or so" 400 -\r',
            '192.0.2.1 - - [31/Feb/1970:00:00:01 +0000] "GET / HTTP/1.1" 200 5',
            'host.example - - [01/Jan/1970:00:00:02 +0000] "" 408 0 "-" "-"'),
            [(3, 1 * S, "192.0.2.2", None, None), (1, 2 * S, "192.0.2.1", "GET", "/b"), (5, 2 * S, "None", None, None)])

    def test_load_balancers(self):
        times = "10.0.0.1:80 0.1 0.2 -1 200 200 0 0"
        self.assertEqual(self.read("elb", f'1970-01-01T00:00:01.5Z name 192.0.2.1:99 {times} "GET http://h:80/a HTTP/1.1"'),
                         [(1, 1_500_000, "192.0.2.1", "GET", "/a")])
        line = f'https 1970-01-01T00:00:09.000001Z app/x/1 [2001:db8::1]:99 {times} "GET https://h:443 HTTP/1.1" "a" - - arn "r"'
        self.assertEqual(self.read("alb", line, line + ' "h" "c" 0 1970-01-01T00:00:05.000002Z "forward" "-" "-"'),
                         [(2, 5_000_002, "2001:db8::1", "GET", "/"), (1, 9_000_001, "2001:db8::1", "GET", "/")])


class Policies(unittest.TestCase):
    def test_what_is_not_known_is_an_error(self):
        window = limit("fixed-window", 'anchor = "clock"\nlimit = 1\nwindow = "10s"')
        for policy in (window + "burst = 1", window + 'boundary = "open"', window + "match = { host = ['x'] }",
                       window + 'zone = "z"', window + window, window + 'store = "redis"', window + "ban_clears = true",
                       limit("fixed-window", 'anchor = "clock"\nlimit = 1\nwindow = "day"'),
                       limit("nginx", 'rate = "1r/h"\nburst = 0'), limit("spacing", 'min_time = "1s"'), "name2 = 1\n",
                       limit("block", "", "a", '"user"'), limit("sliding-log", 'limit = 1\nwindow = "1s"'),
                       limit("block", 'group = "g"', "a") + limit("block", "", "b") + limit("block", 'group = "g"', "c")):
            with self.assertRaises(replay.PolicyError, msg=policy):
                decide(policy, 0)


if __name__ == "__main__":
    unittest.main()
