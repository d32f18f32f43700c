-- Sends requests, each with the next token of a file: wrk ... URL -- FILE
-- A run that needs more tokens than the file has fails.
dofile("bench/http/wrk.lua")

local threads = {}
local requests = {}
sent = 0
lacking = 0

function setup(thread)
  table.insert(threads, thread)
end

function init(arguments)
  local file = arguments[#arguments]
  for token in io.lines(file) do
    table.insert(requests, wrk.format("GET", nil, { ["Authorization"] = "Bearer " .. token }))
  end
end

function request()
  sent = sent + 1
  if sent > #requests then
    lacking = lacking + 1
    return requests[#requests]
  end
  return requests[sent]
end

local measured = done

function done(summary, latency, requests)
  for _, thread in ipairs(threads) do
    summary.errors.status = summary.errors.status + thread:get("lacking")
  end
  measured(summary, latency, requests)
end
