-- A sliding counter on the clock: this window's count and the last one's, fading out.
-- KEYS: the prefix of both counters, the sequence. ARGV: limit, window in ticks, microseconds of a tick,
-- "floored" or "interpolated", whether refused requests count ("1") or not.
-- Returns its sequence number, the time it decided by (microseconds, exactly) and the verdict.
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local limit, window, tick_us = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now = (now_us - now_us % tick_us) / tick_us
local sequence = redis.call('INCR', KEYS[2])

local into = now % window
local number = (now - into) / window
local this_key = string.format('%s:%.0f', KEYS[1], number)
local last_key = string.format('%s:%.0f', KEYS[1], number - 1)
local this = tonumber(redis.call('GET', this_key) or 0)
local last = tonumber(redis.call('GET', last_key) or 0)

-- whole numbers below 2^53 on both sides: nothing is rounded
local passes
if ARGV[4] == 'floored' then
  passes = math.floor(last * (window - into) / window) + this + 1 <= limit
else
  passes = last * (window - into) + (this + 1) * window <= limit * window
end
if passes or ARGV[5] == '1' then
  redis.call('INCR', this_key)
  redis.call('PEXPIRE', this_key, math.ceil(2 * window * tick_us / 1000) + 1)
end
return { sequence, string.format('%.0f', now_us), 'exact', passes and 'pass' or 'refuse' }
