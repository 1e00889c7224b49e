-- A sliding log in a sorted set, as a pipeline of ZREMRANGEBYSCORE, ZADD, ZCARD and PEXPIRE has it.
-- KEYS: the log, the sequence. ARGV: limit, window in ticks, microseconds of a tick, whether refused
-- requests are logged ("1") or not.
-- Returns its sequence number, the time it decided by (microseconds, exactly) and the verdict.
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local limit, window, tick_us = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now = (now_us - now_us % tick_us) / tick_us
local sequence = redis.call('INCR', KEYS[2])
local score = string.format('%.0f', now)
local member = score .. ':' .. sequence

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - window))
local passes
if ARGV[4] == '1' then
  redis.call('ZADD', KEYS[1], score, member)
  passes = redis.call('ZCARD', KEYS[1]) <= limit
else
  passes = redis.call('ZCARD', KEYS[1]) < limit
  if passes then
    redis.call('ZADD', KEYS[1], score, member)
  end
end
-- a key that is to expire within a millisecond Redis 7.0 may remove at once
redis.call('PEXPIRE', KEYS[1], math.ceil(window * tick_us / 1000) + 1)
return { sequence, string.format('%.0f', now_us), 'exact', passes and 'pass' or 'refuse' }
