-- Prints one line of numbers: requests, failures, seconds, and five percentiles in microseconds.
done = function(summary, latency)
  local errors = summary.errors
  local failures = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  local numbers = { summary.requests, failures, summary.duration / 1e6 }
  for _, percent in ipairs({ 50, 75, 90, 95, 99 }) do
    table.insert(numbers, latency:percentile(percent))
  end
  print("measured " .. table.concat(numbers, " "))
end
