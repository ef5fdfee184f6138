-- Events of 300 bytes (or `-- BYTES`) with a number each, which no two requests share: the thread's
-- number, then a count.
local threads = 0

function setup(thread)
    threads = threads + 1
    thread:set("mine", threads)
end

function init(words)
    count = 0
    local size = tonumber(words[1]) or 300
    local head = '<?xml version="1.0" encoding="UTF-8"?>\n<event><number>%015d</number><part>PART-%05d</part>'
    local tail = "<note>%s</note></event>"
    local empty = #string.format(head .. tail, 0, 0, "")
    form = head .. string.format(tail, string.rep("x", math.max(size - empty, 0)))
    wrk.method = "POST"
    wrk.headers["Content-Type"] = "application/xml"
end

function request()
    count = count + 1
    return wrk.format(nil, nil, nil, string.format(form, mine * 1e12 + count, count % 1499))
end

function done(summary, latency)
    local failed = summary.errors
    io.write(string.format(
        '{"requests": %d, "seconds": %f, "p50_ms": %f, "p99_ms": %f, "wrong": %d}\n',
        summary.requests, summary.duration / 1e6, latency:percentile(50) / 1000,
        latency:percentile(99) / 1000,
        failed.connect + failed.read + failed.write + failed.status + failed.timeout))
end
