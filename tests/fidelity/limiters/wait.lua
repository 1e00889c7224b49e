-- Holds Redis up until an instant of its clock, so that what follows on the connection is decided right
-- then: a client alone comes too early or too late, the more so where the machine is busy.
-- ARGV: microseconds. An instant further off than 50 ms is not waited for.
local function now_us()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local until_us = tonumber(ARGV[1])
if until_us - now_us() < 50000 then
  while now_us() < until_us do end
end
