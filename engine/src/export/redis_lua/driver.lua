
local unit = UNITS[ARGV[1]]
if not unit then
  return redis.error_reply('ERR shadowcap: ARGV[1] names no limit of this script')
end
local rule = unit()
if #KEYS ~= #rule then
  return redis.error_reply('ERR shadowcap: this needs ' .. #rule .. ' keys')
end
local weights = {}
for number, of in ipairs(rule) do
  local weight = tonumber(ARGV[number + 1] or of.weight)
  if not weight or weight % 1 ~= 0 or weight < -1 or weight > 1000000 then
    return redis.error_reply('ERR shadowcap: a weight is a whole number from -1 to 1000000')
  end
  weights[number] = weight
end
local completes = ARGV[#rule + 2] == 'charge'

local function member(number)
  local of = rule[number]
  local m = { of = of, key = KEYS[number], number = number, weight = weights[number] }
  m.t = (at_us - at_us % of.tick_us) / of.unit_us
  of.new(m)
  return m
end

-- A response that counts.
if completes then
  for number, of in ipairs(rule) do
    if of.count_when and weights[number] > 0 then
      local m = member(number)
      m.charge(m.weight)
      m.save()
    end
  end
  return { 1, -1, 0, 0, at_us, 0 }
end

-- Asks; nothing is charged yet.
local together = rule.charge ~= 'all'
local asked, refused_by, would_refuse = {}, nil, nil
for number, of in ipairs(rule) do
  local skipped = together and would_refuse and of.shadow
  local in_force = not of.expires_us or at_us < of.expires_us
  if weights[number] ~= 0 and in_force and not skipped then
    local m = member(number)
    asked[#asked + 1] = m
    m.banned = m.ban and m.ban > m.t
    m.refused = m.weight < 0 or m.banned or not m.fits(m.weight, m.t)
    if m.refused then
      would_refuse = would_refuse or number
      if not of.shadow then
        refused_by = refused_by or number
        if together then
          break
        end
      end
    end
  end
end

-- Charges, as the members' answers say.
local remaining, retry_ms, reset_ms = -1, 0, 0
for _, m in ipairs(asked) do
  local of = m.of
  if m.refused and m.weight > 0 then
    if rule.charge ~= 'none' then
      m.refuse(m.weight)
    end
    if of.ban then
      if not m.banned and of.ban_clears then
        m.clear()
      end
      if not m.banned or of.ban_extends then
        m.ban, m.changed = m.t + of.ban, true
      end
    end
  elseif not m.refused and not of.count_when and (not refused_by or not together)
    and not (together and would_refuse and of.shadow) then
    m.charge(m.weight)
  end
  if m.changed then
    m.save()
  end
  local tick = of.tick_us / of.unit_us
  local function ms(instant)
    return max(ceil((ceil(instant / tick) * tick * of.unit_us - at_us) / 1000), 0)
  end
  remaining = remaining < 0 and m.remaining() or min(remaining, m.remaining())
  reset_ms = max(reset_ms, ms(max(m.reset(), m.ban or 0)))
  if m.refused and not of.shadow and retry_ms >= 0 then
    local from = max(m.ban or 0, m.t)
    local ready = m.weight > 0 and m.ready(m.weight, from)
    retry_ms = ready and max(retry_ms, ms(ready)) or -1
  end
end
return { refused_by and 0 or 1, remaining, retry_ms, reset_ms, at_us, refused_by or would_refuse or 0 }
