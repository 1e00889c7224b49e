
-- A sorted set: an entry per instant, scored by it, with its weight in its name. Below 0 stand two that are no
-- entries: n, of which -score - 1 is the weight of all entries, and b, whose -score is the end of the ban.
local function sliding_log(m)
  local of, t, key = m.of, m.t, m.key
  local function weight_of(entry)
    return tonumber(string.match(entry, ':(%d+)$'))
  end
  local function leaves(instant)
    return instant + of.window + (of.closed and 1 / of.unit_us or 0)
  end
  local ban = redis.call('ZSCORE', key, 'b')
  m.ban = ban and -tonumber(ban)
  local counted = redis.call('ZSCORE', key, 'n')
  local total = counted and -tonumber(counted) - 1 or 0
  local oldest = (of.closed and '(' or '') .. text(t - of.window)
  local gone = redis.call('ZRANGEBYSCORE', key, '0', oldest)
  if #gone > 0 then
    for _, entry in ipairs(gone) do
      total = total - weight_of(entry)
    end
    redis.call('ZREMRANGEBYSCORE', key, '0', oldest)
    redis.call('ZADD', key, text(-total - 1), 'n')
  end
  local function newest()
    local last = redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')
    if last[1] and tonumber(last[2]) >= 0 then
      return last[1], tonumber(last[2])
    end
  end
  function m.fits(weight)
    return total + weight <= of.limit
  end
  function m.charge(weight)
    if weight == 0 then
      return
    end
    local entry, instant = newest()
    -- a clock that goes back logs at the latest instant
    if instant and instant >= t then
      redis.call('ZREM', key, entry)
      redis.call('ZADD', key, text(instant), text(instant) .. ':' .. text(weight_of(entry) + weight))
    else
      redis.call('ZADD', key, text(t), text(t) .. ':' .. text(weight))
    end
    total = total + weight
    redis.call('ZADD', key, text(-total - 1), 'n')
    m.changed = true
  end
  function m.refuse(weight)
    if of.count_refused then
      m.charge(weight)
    end
  end
  function m.ready(weight, from)
    if weight > of.limit then
      return nil
    end
    if of.count_refused and not of.exact then
      return max(leaves(t), from)
    end
    -- by the entries that must leave, the oldest first; where refused ones count, by those that may stay
    local left, at, skip = total, from, 0
    local kept = 0
    while true do
      local entries
      if of.count_refused then
        entries = redis.call('ZREVRANGEBYSCORE', key, '+inf', '0', 'WITHSCORES', 'LIMIT', skip, 100)
      else
        entries = redis.call('ZRANGEBYSCORE', key, '0', '+inf', 'WITHSCORES', 'LIMIT', skip, 100)
      end
      for number = 1, #entries, 2 do
        local instant = tonumber(entries[number + 1])
        if of.count_refused then
          kept = kept + weight_of(entries[number])
          if kept + weight > of.limit then
            return max(leaves(instant), from)
          end
        else
          if left + weight <= of.limit then
            return at
          end
          left = left - weight_of(entries[number])
          at = max(leaves(instant), from)
        end
      end
      if #entries < 200 then
        return of.count_refused and from or at
      end
      skip = skip + 100
    end
  end
  function m.remaining()
    return max(of.limit - total, 0)
  end
  function m.reset()
    local _, instant = newest()
    return instant and leaves(instant) or t
  end
  function m.clear()
    redis.call('DEL', key)
    total = 0
  end
  function m.save()
    if m.ban then
      redis.call('ZADD', key, text(-m.ban), 'b')
    end
    expire(m, m.reset())
  end
end
