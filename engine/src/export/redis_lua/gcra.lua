
-- When the next request would arrive at the sustained rate: s, in microseconds, and r, nanoseconds beyond.
local function gcra(m)
  local of = m.of
  hash(m, 's', 'r')
  local function ahead_ns(t)
    return m.s and (m.s - t) * 1000 + m.r or 0
  end
  function m.fits(weight, t)
    return weight <= of.burst and ahead_ns(t) <= (of.burst - weight) * of.emission_ns
  end
  function m.charge(weight)
    local ahead = max(ahead_ns(m.t), 0) + weight * of.emission_ns
    m.s, m.r, m.changed = m.t + floor(ahead / 1000), ahead % 1000, true
  end
  function m.refuse() end
  function m.ready(weight, from)
    if weight > of.burst then
      return nil
    end
    local over = ahead_ns(m.t) - (of.burst - weight) * of.emission_ns
    return max(m.t + ceil(over / 1000), from)
  end
  function m.remaining()
    return max(floor((of.burst * of.emission_ns - max(ahead_ns(m.t), 0)) / of.emission_ns), 0)
  end
  function m.reset()
    return m.s and m.s + 1 or m.t
  end
end
