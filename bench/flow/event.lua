-- Events of 300 bytes, each with a number of its own: the time at which wrk began, the number of the
-- thread and a count. Behind `--`: another size.
local threads = 0

function setup(thread)
    threads = threads + 1
    thread:set("mine", threads)
end

function init(words)
    count = 0
    began = os.time()
    local size = tonumber(words[1]) or 300
    local head = '<?xml version="1.0" encoding="UTF-8"?>\n<event><number>%010d%d%08d</number><part>PART-%05d</part>'
    local tail = "<note>%s</note></event>"
    local empty = #string.format(head, 0, 0, 0, 0) + #string.format(tail, "")
    form = head .. string.format(tail, string.rep("x", math.max(size - empty, 0)))
    wrk.method = "POST"
    wrk.headers["Content-Type"] = "application/xml"
end

function request()
    count = count + 1
    return wrk.format(nil, nil, nil, string.format(form, began, mine, count, count % 1499))
end

function done(summary, latency)
    local wrong = summary.errors
    io.write(string.format(
        '{"requests": %d, "seconds": %f, "p50_ms": %f, "p99_ms": %f, "wrong": %d}\n',
        summary.requests, summary.duration / 1e6, latency:percentile(50) / 1000,
        latency:percentile(99) / 1000,
        wrong.connect + wrong.read + wrong.write + wrong.status + wrong.timeout))
end
