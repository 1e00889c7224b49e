-- All numbers are whole and below 2^53, where Lua counts exactly.
local time = redis.call('TIME')
local at_us = time[1] * 1000000 + time[2]
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min

local function text(number)
  return string.format('%.0f', number)
end

-- How long a key outlives what it remembers, in milliseconds: clocks are set back now and then.
local SLACK_MS = 1000

local function expire(m, until_units)
  local left_ms = ceil((max(until_units, m.ban or 0) * m.of.unit_us - at_us) / 1000)
  redis.call('PEXPIRE', m.key, text(max(left_ms, 0) + SLACK_MS + (m.of.keep_ms or 0)))
end

-- A state in a hash; the ban is the field b.
local function hash(m, ...)
  local fields = { ... }
  local found = redis.call('HMGET', m.key, 'b', ...)
  m.ban = tonumber(found[1] or nil)
  for number, field in ipairs(fields) do
    m[field] = tonumber(found[number + 1] or nil)
  end
  function m.clear()
    redis.call('DEL', m.key)
    for _, field in ipairs(fields) do
      m[field] = nil
    end
  end
  function m.save()
    local set = {}
    for _, field in ipairs(fields) do
      if m[field] then
        set[#set + 1] = field
        set[#set + 1] = text(m[field])
      end
    end
    if m.ban then
      set[#set + 1] = 'b'
      set[#set + 1] = text(m.ban)
    end
    if #set > 0 then
      redis.call('HSET', m.key, unpack(set))
      expire(m, m.reset())
    end
  end
end
