
-- What is missing to a full bucket: x, in parts of a token, and a, when that was so.
local function token_bucket(m)
  local of = m.of
  hash(m, 'x', 'a')
  local full = of.burst * of.token
  local function refilled(t)
    if not m.a then
      return 0, t
    end
    local steps = floor(max(t - m.a, 0) / of.step)
    return max(m.x - of.gain * steps, 0), m.a + steps * of.step
  end
  function m.fits(weight, t)
    return refilled(t) + weight * of.token <= full
  end
  function m.charge(weight)
    local missing, at = refilled(m.t)
    m.x, m.a, m.changed = missing + weight * of.token, at, true
  end
  function m.refuse() end
  function m.ready(weight, from)
    if m.fits(weight, from) then
      return from
    elseif weight > of.burst then
      return nil
    end
    local needed = m.x + weight * of.token - full
    return max(m.a + ceil(needed / of.gain) * of.step, from)
  end
  function m.remaining()
    return max(floor((full - refilled(m.t)) / of.token), 0)
  end
  function m.reset()
    return m.a and m.a + ceil(m.x / of.gain) * of.step or m.t
  end
end
