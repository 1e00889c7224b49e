-- Tells each request HAProxy's own time, from which its counters take their milliseconds, and in which
-- order requests came.
local sequence = 0

core.register_action('clock', { 'http-req' }, function(txn)
  local now = core.now()
  sequence = sequence + 1
  txn:set_var('txn.clock', string.format('%d %d%06d', sequence, now.sec, now.usec))
end)
