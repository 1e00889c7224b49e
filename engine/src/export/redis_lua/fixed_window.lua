
-- A count per window: w is which one (its number, or when it began), u what is counted in it.
local function fixed_window(m)
  local of = m.of
  hash(m, 'w', 'u')
  -- months since the year 0, and when one begins, by days since 1970 (civil_from_days, days_from_civil:
  -- https://howardhinnant.github.io/date_algorithms.html)
  local function month_of(days)
    local z = days + 719468
    local era = floor(z / 146097)
    local day = z - era * 146097
    local year = floor((day - floor(day / 1460) + floor(day / 36524) - floor(day / 146096)) / 365)
    local of_year = day - (365 * year + floor(year / 4) - floor(year / 100))
    local march = floor((5 * of_year + 2) / 153)
    return (year + era * 400) * 12 + march + 2
  end
  local function first_day(month)
    local months = month - 2
    local year, march = floor(months / 12), months % 12
    local era = floor(year / 400)
    local y = year - era * 400
    local day = y * 365 + floor(y / 4) - floor(y / 100) + floor((153 * march + 2) / 5)
    return era * 146097 + day - 719468
  end
  local function current(t)
    local here
    if of.anchor == 'first' then
      local begin = m.w or t
      local age = t - begin
      local last = age == of.window and (of.closed or of.until_full and m.u < of.limit)
      here = (age < of.window or last) and begin or t
    else
      here = floor((t + of.offset) / of.window)
      if of.anchor == 'month' then
        here = month_of(here)
      end
    end
    return here, m.w == here and m.u or 0
  end
  local function ends(t)
    local here = current(t)
    if of.anchor == 'first' then
      local past = of.closed or of.until_full and (m.u or 0) < of.limit
      return max((m.w or t) + of.window + (past and 1 / of.unit_us or 0), t)
    elseif of.anchor == 'month' then
      return first_day(here + 1) * of.window - of.offset
    end
    return (here + 1) * of.window - of.offset
  end
  function m.fits(weight, t)
    local _, used = current(t)
    return used + weight <= of.limit
  end
  function m.charge(weight)
    local here, used = current(m.t)
    m.w, m.u, m.changed = here, used + weight, true
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
    return m.fits(weight, from) and from or ends(from)
  end
  function m.remaining()
    local _, used = current(m.t)
    return max(of.limit - used, 0)
  end
  function m.reset()
    return ends(m.t)
  end
end
