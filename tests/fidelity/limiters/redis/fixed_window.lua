-- A fixed window from a key's first hit: INCR, and PEXPIRE at the first.
-- KEYS: the counter, the sequence. ARGV: limit, window in milliseconds.
-- Whether a key has expired Redis 7.0 decides by the millisecond at which the script began, which it does
-- not tell; it tells when a key will expire, and so exactly when a window was opened.
-- Returns its sequence number, a time (microseconds; "exact": when the window opened, "open": the
-- latest at which Redis may have looked whether the key had expired) and the verdict; "lost" where Redis was
-- held up in PEXPIRE until the window was over, and so removed the key.
local time = redis.call('TIME')
local sequence = redis.call('INCR', KEYS[2])
local count = redis.call('INCR', KEYS[1])
local at_us, clock = time[1] * 1000000 + time[2], 'open'
local verdict = count <= tonumber(ARGV[1]) and 'pass' or 'refuse'
if count == 1 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  local ends_ms = redis.call('PEXPIRETIME', KEYS[1])
  if ends_ms > 0 then
    at_us, clock = (ends_ms - ARGV[2]) * 1000, 'exact'
  else
    verdict = 'lost'
  end
end
return { sequence, string.format('%.0f', at_us), clock, verdict }
