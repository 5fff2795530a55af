// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import Redis

/// The scripts over deferred verifications. Each is atomic. They derive the keys of jobs from IDs: all keys are in one
/// hash slot. KEYS has only `usage`, which names the slot.
///
/// The hash of a job has encrypted fields, `head`, `request` (until it ends), `answer` and `trace` (until its end is
/// announced, if its request has a span), and plain fields: `status`, `attempts`, `losses`, `next` (the time of the next
/// attempt), `ended` (the time of its end), `deadline`, `token` (of the worker that has it), `bytes` (counted for its
/// client, until it ends), `kept` (the bytes of its verdict), and the names `client` (in the usage and of the index of its
/// verdicts), `request_name`, `same` and `about`. Only the first write of a script can fail for want of memory, so all but
/// `create` begin with a write that needs no memory.
enum JobScripts {
    static let all = [create, take, begin, survived, postpone, end, announced, discard, leave, survey, erase]

    /// The answers of `create`.
    enum Creation: String {
        case created
        case joined
        case reused
        case tooManyKeys
        case clientLimit
        case totalLimit
        /// Redis may evict jobs.
        case evicts
    }

    /// The fields that are read of a job, in order.
    enum Fields {
        static let described = ["status", "attempts", "next", "head", "answer", "ended"]
        static let taken = described + ["losses", "request", "trace"]
    }

    private static func lua(_ words: [String]) -> String { words.map { "'\($0)'" }.joined(separator: ", ") }

    static let functions =
        ScriptPrelude.numbers + ScriptPrelude.clock + """
            local usage, same, waiting = '\(JobKeys.usage)', '\(JobKeys.same)', '\(JobKeys.jobs(.waiting))'
            local lanes = { \(lua(JobLane.allCases.map { JobKeys.due($0) })) }
            local statuses = { \(lua(JobStatus.allCases.map { JobKeys.jobs($0) })) }
            local function text(number) return string.format('%.0f', number) end
            local function job(id) return '\(JobKeys.job(""))' .. id end
            local function about(name) return '\(JobKeys.aboutPrefix)' .. name end
            -- The fields of a job; none if another program's key has its name.
            local function read(id, ...)
                local values = redis.pcall('HMGET', job(id), ...)
                if values.err and not string.find(values.err, 'WRONGTYPE', 1, true) then error(values) end
                return values.err and {} or values
            end
            local function charge(client, count, bytes)
                local changes = { [client .. ':count'] = count, [client .. ':bytes'] = bytes, total = bytes }
                for field, change in pairs(changes) do
                    local known = stored(redis.call('HGET', usage, field)) or 0
                    if known + change > 0 then
                        redis.call('HSET', usage, field, text(known + change))
                    else
                        redis.call('HDEL', usage, field)
                    end
                end
            end
            -- The bytes of kept verdicts, of all clients or of one.
            local function kept(field) return stored(redis.call('HGET', usage, field or 'kept')) or 0 end
            local function ended(client) return '\(JobKeys.endedPrefix)' .. client end
            local function keep(client, change)
                for _, field in ipairs({ 'kept', client .. ':kept' }) do
                    local bytes = kept(field) + change
                    if bytes > 0 then redis.call('HSET', usage, field, text(bytes)) else redis.call('HDEL', usage, field) end
                end
            end
            local function release(id)
                local fields = read(id, 'client', 'bytes')
                redis.call('HDEL', job(id), 'bytes')
                if fields[1] and stored(fields[2]) then charge(fields[1], -1, -stored(fields[2])) end
                redis.call('ZREM', waiting, id)
            end
            local function unname(id, name)
                if redis.call('HGET', same, name) == id then redis.call('HDEL', same, name) end
            end
            -- Adds names of customers, in ARGV from an index on, to a job. Returns the bytes that it has more.
            local function link(id, first)
                local names, known, growth = {}, {}, 0
                for name in string.gmatch(read(id, 'about')[1] or '', '%S+') do
                    names[#names + 1], known[name] = name, true
                end
                for i = first, #ARGV do
                    if not known[ARGV[i]] then
                        names[#names + 1] = ARGV[i]
                        growth = growth + #ARGV[i] + 1
                        redis.call('ZADD', about(ARGV[i]), stamp, id)
                    end
                end
                if growth > 0 then redis.call('HSET', job(id), 'about', table.concat(names, ' ')) end
                return growth
            end
            local function forget(id)
                local fields = read(id, 'same', 'about', 'kept', 'client')
                for i = 1, #lanes do redis.call('ZREM', lanes[i], id) end
                if fields[1] then release(id) end
                if fields[3] and fields[4] then keep(fields[4], -(stored(fields[3]) or 0)) end
                redis.call('DEL', job(id))
                -- A key of another type there is in the way of nothing.
                if fields[4] then redis.pcall('ZREM', ended(fields[4]), id) end
                for i = 1, #statuses do redis.call('ZREM', statuses[i], id) end
                for name in string.gmatch(fields[1] or '', '%S+') do unname(id, name) end
                for name in string.gmatch(fields[2] or '', '%S+') do redis.call('ZREM', about(name), id) end
            end
            -- Ends a job that waits; its answer and its place in the queue are the caller's.
            local function finish(id, status)
                redis.call('HDEL', job(id), 'request', 'next')
                release(id)
                unname(id, read(id, 'request_name')[1] or '')
                redis.call('HSET', job(id), 'status', status, 'losses', 0)
                redis.call('ZADD', '\(JobKeys.prefix)' .. status, stamp, id)
            end

            """

    /// ARGV ID, key of the lane, head, request, answer, trace (empty for none), deadline, the maximum count and bytes of
    /// the client, the maximum bytes of all, the maximum number of idempotency keys of a job, the numbers of the client's,
    /// the request's and the key's names (0 without a key), these names, then the names of customers. Returns a
    /// `Creation`, and of a job that was there its ID and the described fields.
    static let create = RedisScript(
        functions + ScriptPrelude.eviction + """
            local function words(first, count)
                local list = {}
                for i = first, first + count - 1 do list[#list + 1] = ARGV[i] end
                return list
            end
            local clients = words(15, tonumber(ARGV[12]))
            local requests = words(15 + #clients, tonumber(ARGV[13]))
            local keys = words(15 + #clients + #requests, tonumber(ARGV[14]))
            local customers = 15 + #clients + #requests + #keys
            local function find(names)
                for _, name in ipairs(names) do
                    local id = redis.call('HGET', same, name)
                    local fields = id and read(id, 'request_name', 'status') or {}
                    if fields[2] then return id, fields end
                end
            end
            local function joined(id)
                local reply = { '\(Creation.joined.rawValue)', id }
                for i, value in ipairs(read(id, \(lua(Fields.described)))) do reply[i + 2] = value end
                return reply
            end
            local id, fields = find(keys)
            -- The key of a job without a verdict may be used again.
            if id and (fields[2] == 'waiting' or fields[2] == 'done') then
                for _, name in ipairs(requests) do
                    if name == fields[1] then return joined(id) end
                end
                return { '\(Creation.reused.rawValue)' }
            end
            id, fields = find(requests)
            if id and fields[2] == 'waiting' then
                if keys[1] then
                    local names = {}
                    for name in string.gmatch(read(id, 'same')[1] or '', '%S+') do names[#names + 1] = name end
                    -- The first is that of the request.
                    if #names > tonumber(ARGV[11]) then return { '\(Creation.tooManyKeys.rawValue)' } end
                    redis.call('ZREM', waiting, '')
                    names[#names + 1] = keys[1]
                    redis.call('HSET', job(id), 'same', table.concat(names, ' '))
                    redis.call('HSET', same, keys[1], id)
                end
                return joined(id)
            end
            local size = #ARGV[3] + #ARGV[4] + #ARGV[5] + #ARGV[6]
            for i = customers, #ARGV do size = size + #ARGV[i] + 1 end
            local count, bytes = 1, size
            for _, client in ipairs(clients) do
                count = count + (stored(redis.call('HGET', usage, client .. ':count')) or 0)
                bytes = bytes + (stored(redis.call('HGET', usage, client .. ':bytes')) or 0)
            end
            if count > tonumber(ARGV[8]) or bytes > tonumber(ARGV[9]) then
                return { '\(Creation.clientLimit.rawValue)' }
            end
            if size + (stored(redis.call('HGET', usage, 'total')) or 0) > tonumber(ARGV[10]) then
                return { '\(Creation.totalLimit.rawValue)' }
            end
            if evicts() then return { '\(Creation.evicts.rawValue)' } end
            id = ARGV[1]
            -- The job itself last: a key of another type at one of these names leaves no evidence behind.
            charge(clients[1], 1, size)
            redis.call('ZADD', ARGV[2], stamp, id)
            redis.call('ZADD', waiting, stamp, id)
            redis.call('HSET', same, requests[1], id)
            if keys[1] then redis.call('HSET', same, keys[1], id) end
            redis.call(
                'HSET', job(id), 'status', 'waiting', 'attempts', 0, 'losses', 0, 'next', stamp, 'deadline', ARGV[7],
                'head', ARGV[3], 'request', ARGV[4], 'answer', ARGV[5], 'bytes', size, 'client', clients[1],
                'request_name', requests[1], 'same', requests[1] .. ' ' .. (keys[1] or ''))
            if ARGV[6] ~= '' then redis.call('HSET', job(id), 'trace', ARGV[6]) end
            link(id, customers)
            return { '\(Creation.created.rawValue)' }
            """)

    /// ARGV key of the lane, maximum number, the bytes after which no more are taken, the lease, the token. Returns ID
    /// and fields of each job.
    static let take = RedisScript(
        functions + """
            redis.call('ZREM', ARGV[1], '')
            local reply, bytes = {}, 0
            local due = redis.call('ZRANGEBYSCORE', ARGV[1], '-inf', stamp, 'LIMIT', 0, ARGV[2])
            for _, id in ipairs(due) do
                if bytes >= tonumber(ARGV[3]) then break end
                local fields = read(id, \(lua(Fields.taken)))
                if fields[1] then
                    redis.call('HSET', job(id), 'token', ARGV[5])
                    redis.call('ZADD', ARGV[1], text(now + tonumber(ARGV[4])), id)
                    reply[#reply + 1] = id
                    for i = 1, \(Fields.taken.count) do
                        reply[#reply + 1] = fields[i]
                        bytes = bytes + #(fields[i] or '')
                    end
                else
                    -- An operator has deleted it.
                    redis.call('ZREM', ARGV[1], id)
                    redis.call('ZREM', waiting, id)
                end
            end
            return reply
            """)

    /// ARGV token, then IDs. Counts a loss of each job with this token until its worker reports the end of the attempt: a
    /// reply to `take` that is lost costs only the lease. Returns the IDs of these jobs.
    static let begin = RedisScript(
        functions + """
            -- Also with a full memory, which refuses only the first write of a script.
            redis.call('ZREM', waiting, '')
            local begun = {}
            for i = 2, #ARGV do
                if read(ARGV[i], 'token')[1] == ARGV[1] then
                    count(job(ARGV[i]), 'losses', 1)
                    begun[#begun + 1] = ARGV[i]
                end
            end
            return begun
            """)

    /// ARGV IDs. Takes back one loss of each job.
    static let survived = RedisScript(
        functions + """
            redis.call('ZREM', waiting, '')
            for i = 1, #ARGV do
                local fields = read(ARGV[i], 'status', 'losses')
                local losses = stored(fields[2]) or 0
                if fields[1] == 'waiting' and losses > 0 then redis.call('HSET', job(ARGV[i]), 'losses', losses - 1) end
            end
            return #ARGV
            """)

    /// ARGV ID, key of the lane, token, delay, answer, the attempts to add, then the names of customers. Returns 1; 0
    /// without the token.
    static let postpone = RedisScript(
        functions + """
            local id = ARGV[1]
            local fields = read(id, 'token', 'status', 'attempts', 'answer', 'client', 'bytes')
            if fields[1] ~= ARGV[3] or fields[2] ~= 'waiting' then return 0 end
            redis.call('HDEL', job(id), 'token')
            local next = text(now + tonumber(ARGV[4]))
            local growth = #ARGV[5] - #(fields[4] or '') + link(id, 7)
            redis.call(
                'HSET', job(id), 'answer', ARGV[5], 'next', next, 'losses', 0,
                'attempts', (stored(fields[3]) or 0) + tonumber(ARGV[6]),
                'bytes', (stored(fields[6]) or 0) + growth)
            charge(fields[5], 0, growth)
            redis.call('ZADD', ARGV[2], next, id)
            return 1
            """)

    /// ARGV ID, token, status, answer, the attempts to add, the maximum bytes of kept verdicts, the time of the end, then
    /// the names of customers. Deletes verdicts beyond that size: the oldest verdicts of the client that has most. Returns 1; 0
    /// without the token.
    static let end = RedisScript(
        functions + """
            local function oldestOfLargest()
                for _ = 1, 16 do
                    local largest, most = nil, 0
                    local fields = redis.call('HGETALL', usage)
                    for i = 1, #fields, 2 do
                        local client, bytes = string.match(fields[i], '^(.*):kept$'), stored(fields[i + 1]) or 0
                        if client and bytes > most then largest, most = client, bytes end
                    end
                    if not largest then return nil end
                    local found = redis.pcall('ZRANGE', ended(largest), 0, 0)
                    local id = not found.err and found[1]
                    if id then
                        -- Also if an operator has deleted the job.
                        if id ~= ARGV[1] then redis.call('ZREM', ended(largest), id) end
                        return id
                    end
                    -- The bytes of jobs that an operator has deleted.
                    keep(largest, -most)
                end
            end
            -- Of all clients: verdicts of earlier versions have no client's index.
            local function oldest()
                local found, time
                for i = 1, #statuses do
                    local first = statuses[i] ~= waiting and redis.call('ZRANGE', statuses[i], 0, 0, 'WITHSCORES') or {}
                    if first[1] and (not time or tonumber(first[2]) < time) then
                        found, time = first[1], tonumber(first[2])
                    end
                end
                return found
            end
            local id = ARGV[1]
            local fields = read(id, 'token', 'status', 'attempts', 'client')
            if fields[1] ~= ARGV[2] then return 0 end
            -- After a lost reply.
            if fields[2] ~= 'waiting' then return fields[2] == ARGV[3] and 1 or 0 end
            finish(id, ARGV[3])
            redis.call(
                'HSET', job(id), 'answer', ARGV[4], 'ended', ARGV[7],
                'attempts', (stored(fields[3]) or 0) + tonumber(ARGV[5]))
            link(id, 8)
            local bytes = #ARGV[4] + #(read(id, 'about')[1] or '')
            redis.call('HSET', job(id), 'kept', bytes)
            keep(fields[4], bytes)
            redis.pcall('ZADD', ended(fields[4]), stamp, id)
            -- More than the one that comes, so that a smaller limit is reached.
            for _ = 1, 4 do
                local last = kept() > tonumber(ARGV[6]) and (oldestOfLargest() or oldest()) or id
                if last == id then break end
                forget(last)
            end
            return 1
            """)

    /// ARGV ID, key of the lane, token. Ends the work on a job that has ended.
    static let announced = RedisScript(
        functions + """
            local fields = read(ARGV[1], 'token', 'status')
            if fields[1] ~= ARGV[3] or fields[2] == 'waiting' then return 0 end
            redis.call('HDEL', job(ARGV[1]), 'token', 'trace')
            return redis.call('ZREM', ARGV[2], ARGV[1])
            """)

    /// ARGV ID, key of the lane, token. Ends a job whose client or answer cannot be read. Its end is not announced.
    static let discard = RedisScript(
        functions + """
            local fields = read(ARGV[1], 'token', 'status')
            if fields[1] ~= ARGV[3] then return 0 end
            redis.call('ZREM', ARGV[2], ARGV[1])
            if fields[2] == 'waiting' then finish(ARGV[1], '\(JobStatus.failed.rawValue)') end
            return redis.call('HDEL', job(ARGV[1]), 'token', 'trace', 'answer')
            """)

    /// ARGV ID, key of the lane, token, delay, the time after the deadline. Leaves a job to nodes that can read it, and
    /// deletes it if none could so long after its deadline.
    static let leave = RedisScript(
        functions + """
            local id = ARGV[1]
            local fields = read(id, 'token', 'status', 'deadline', 'losses')
            if fields[1] ~= ARGV[3] then return 0 end
            if fields[2] == 'waiting' and now > (stored(fields[3]) or 0) + tonumber(ARGV[5]) then
                forget(id)
                return 1
            end
            redis.call('HDEL', job(id), 'token')
            redis.call('HSET', job(id), 'losses', math.max(0, (stored(fields[4]) or 0) - 1))
            redis.call('ZADD', ARGV[2], text(now + tonumber(ARGV[4])), id)
            return 1
            """)
}
