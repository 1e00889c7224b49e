
-- Two counts: w is the current window (its number, or when it began), c what is counted in it, l in the last one.
local function sliding_counter(m)
  local of = m.of
  local W = of.window
  local last_us = of.expires and 1 / of.unit_us or 0
  hash(m, 'w', 'c', 'l')
  local function begin_at(t)
    return of.step and t - t % of.step or t
  end
  -- the window at an instant, the counts, the time since it began and the time at which it ends
  local function now(t)
    local here, into, steps, ends
    if of.anchor == 'clock' then
      here, into = floor((t + of.offset) / W), (t + of.offset) % W
      steps, ends = m.w and here - m.w or 2, W
    elseif not m.w then
      here = begin_at(t)
      into, steps, ends = max(t - here, 0), 2, W + last_us
    else
      local age = max(t - m.w, 0)
      local still = of.expires and (age == W or age == 2 * W)
      if still or age < W then
        here, into, steps, ends = m.w, age, 0, age > W and age + last_us or W + last_us
      elseif age < 2 * W then
        here = begin_at(m.w + W)
        into, steps, ends = max(t - here, 0), 1, m.w + 2 * W - here
      else
        here = begin_at(t)
        into, steps, ends = max(t - here, 0), 2, W + last_us
      end
    end
    if steps == 0 then
      return here, m.c or 0, m.l or 0, into, ends
    end
    return here, 0, steps == 1 and m.c or 0, into, ends
  end
  local function fits(current, previous, into, weight)
    local room = of.limit - current - weight
    local fading = previous * max(W - into, 0)
    if of.floored then
      return fading < (room + 1) * W
    end
    return fading <= room * W
  end
  -- the least time into a window at which so much passes
  local function fits_from(current, previous, weight)
    local room = of.limit - current - weight
    if room < 0 then
      return nil
    elseif previous == 0 then
      return 0
    elseif of.floored then
      return max(W - floor(((room + 1) * W - 1) / previous), 0)
    end
    return max(W - floor(room * W / previous), 0)
  end
  function m.fits(weight, t)
    local _, current, previous, into = now(t)
    return fits(current, previous, into, weight)
  end
  function m.charge(weight)
    m.w, m.c, m.l = now(m.t)
    m.c, m.changed = m.c + weight, true
  end
  function m.refuse(weight)
    if of.count_refused then
      m.charge(weight)
    elseif weight <= of.limit and of.anchor == 'stepped' then
      -- what could pass some time steps windows on
      m.charge(0)
    end
  end
  function m.ready(weight, from)
    if weight > of.limit then
      return nil
    end
    local _, current, previous, into, ends = now(from)
    if fits(current, previous, into, weight) then
      return from
    end
    local begin = from - into
    local ending = begin + ends
    local here = fits_from(current, previous, weight)
    if here and begin + here < ending then
      return max(begin + here, from)
    elseif current == 0 then
      return max(ending + last_us, from)
    end
    local there = fits_from(0, current, weight)
    there = there and max(begin_at(begin + W) + there, ending)
    if there and there < begin + 2 * W then
      return max(there, from)
    end
    return max(begin + 2 * W + last_us, from)
  end
  function m.remaining()
    local _, current, previous, into = now(m.t)
    local used = current + (of.floored and floor or ceil)(previous * max(W - into, 0) / W)
    return max(of.limit - used, 0)
  end
  function m.reset()
    local _, _, _, into = now(m.t)
    return m.t - into + 2 * W + last_us
  end
end
