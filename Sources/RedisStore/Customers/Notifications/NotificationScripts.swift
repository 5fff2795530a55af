// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Redis

/// The scripts over the keys of one partition. Each is atomic.
enum NotificationScripts {
    static let all = [store, take, finish, discard, dead, survey, merge, due, reschedule, drop]

    /// The name of the consumer group, and of its only consumer: a notification is taken over by its idle time, not by
    /// the node that took it.
    static let group = "gateway"

    /// The field of a chain's hash that holds everything but its signed states.
    static let detailsField = "c"

    /// KEYS pending, seen, totals, relay; ARGV the notification, the age of identities to forget, 1 if Apple posted it,
    /// the maximum count (0 for no relay), age and bytes of relayed notifications, the identity's names, beginning with
    /// the name to write. Returns the time and the bytes pending; for a known identity an empty list.
    ///
    /// A full memory refuses the first write, so that nothing is written then.
    static let store = RedisScript(
        EventScripts.append + """
            for i = 7, #ARGV do
                if redis.call('ZSCORE', KEYS[2], ARGV[i]) then
                    -- A write, for which replicas can be waited for.
                    count(KEYS[3], 'duplicates', 1)
                    return {}
                end
            end
            if redis.call('EXISTS', KEYS[1]) == 0 then
                redis.call('XGROUP', 'CREATE', KEYS[1], '\(group)', '0', 'MKSTREAM')
            end
            redis.call('XADD', KEYS[1], '*', 'n', ARGV[1])
            redis.call('ZADD', KEYS[2], stamp, ARGV[7])
            if ARGV[3] == '1' then redis.call('HSET', KEYS[3], 'last', stamp) end
            local bytes = count(KEYS[3], 'bytes', #ARGV[1])
            redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '(' .. before(ARGV[2]))
            if ARGV[4] ~= '0' then appendRelayed(KEYS[3], KEYS[4], ARGV[1], ARGV[4], ARGV[5], ARGV[6]) end
            return { now, bytes }
            """)

    /// KEYS pending; ARGV maximum entries, maximum bytes, the idle time after which an entry is taken over; negative
    /// for none. Returns the time, then ID and notification of each entry.
    static let take = RedisScript(
        ScriptPrelude.clock + """
            local taken = { stamp }
            if redis.call('EXISTS', KEYS[1]) == 0 then return taken end
            local bytes = 0
            local function add(entries)
                for _, entry in ipairs(entries) do
                    -- Redis 6.2 names deleted entries, too.
                    if entry then
                        local value = entry[2] and entry[2][2] or ''
                        taken[#taken + 1] = entry[1]
                        taken[#taken + 1] = value
                        bytes = bytes + #value
                    end
                end
            end
            local function isFull() return #taken > 2 * tonumber(ARGV[1]) or bytes >= tonumber(ARGV[2]) end
            if tonumber(ARGV[3]) >= 0 then
                local cursor, left = '0-0', tonumber(ARGV[1])
                repeat
                    local reply = redis.pcall(
                        'XAUTOCLAIM', KEYS[1], '\(group)', '\(group)', ARGV[3], cursor, 'COUNT', 1)
                    if reply.err then
                        if not string.find(reply.err, 'NOGROUP', 1, true) then return reply end
                        break
                    end
                    add(reply[2])
                    cursor, left = reply[1], left - 1
                until cursor == '0-0' or left == 0 or isFull()
            end
            while not isFull() do
                local reply = redis.pcall(
                    'XREADGROUP', 'GROUP', '\(group)', '\(group)', 'COUNT', 1, 'STREAMS', KEYS[1], '>')
                if reply and reply.err then
                    -- The stream was restored without its group.
                    if not string.find(reply.err, 'NOGROUP', 1, true) then return reply end
                    redis.call('XGROUP', 'CREATE', KEYS[1], '\(group)', '0')
                    reply = redis.call(
                        'XREADGROUP', 'GROUP', '\(group)', '\(group)', 'COUNT', 1, 'STREAMS', KEYS[1], '>')
                end
                if not reply then break end
                add(reply[1][2])
            end
            return taken
            """)

    /// KEYS pending, totals, events; ARGV the maximum count and age of events, then ID, bytes and sealed event (or nothing)
    /// of each entry. Returns the number of removed entries. Also with a full memory, as `merge`.
    static let finish = RedisScript(
        EventScripts.append + """
            redis.call('XDEL', KEYS[1], '0-0')
            local removed = 0
            for i = 3, #ARGV, 3 do
                -- A script that fails is not rolled back: the event first, so that it is repeated and not lost.
                if ARGV[i + 2] ~= '' and redis.call('XRANGE', KEYS[1], ARGV[i], ARGV[i])[1] then
                    appendEvent(KEYS[2], KEYS[3], ARGV[i + 2], ARGV[1], ARGV[2])
                end
                redis.call('XACK', KEYS[1], '\(group)', ARGV[i])
                if redis.call('XDEL', KEYS[1], ARGV[i]) == 1 then
                    count(KEYS[2], 'bytes', -tonumber(ARGV[i + 1]))
                    removed = removed + 1
                end
            end
            return removed
            """)

    /// KEYS pending, totals, dead; ARGV ID, bytes, reason, maximum dead letters. Moves an entry to the dead letters.
    /// Also with a full memory, as `merge`.
    static let discard = RedisScript(
        ScriptPrelude.numbers + """
            redis.call('XDEL', KEYS[1], '0-0')
            local entry = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
            if entry then
                redis.call('XADD', KEYS[3], 'MAXLEN', ARGV[4], '*', 'n', entry[2][2], 'reason', ARGV[3], 'id', ARGV[1])
                redis.call('XDEL', KEYS[1], ARGV[1])
                count(KEYS[2], 'bytes', -tonumber(ARGV[2]))
            end
            redis.call('XACK', KEYS[1], '\(group)', ARGV[1])
            return 1
            """)

    /// KEYS dead; ARGV the newest ID, the maximum number and bytes of entries. Returns them, the newest first; the last may
    /// exceed the bytes.
    static let dead = RedisScript(
        """
        local entries, bytes, newest = {}, 0, ARGV[1]
        while #entries < tonumber(ARGV[2]) and bytes < tonumber(ARGV[3]) do
            local entry = redis.call('XREVRANGE', KEYS[1], newest, '-', 'COUNT', 1)[1]
            if not entry then break end
            for _, value in ipairs(entry[2]) do bytes = bytes + #value end
            entries[#entries + 1] = entry
            newest = '(' .. entry[1]
        end
        return entries
        """)

    /// KEYS pending, seen, totals, dead, states, due, events, relay; ARGV the ages of identities, dead letters and states to
    /// forget, maximum number of states to name, the newest identity that the node knows or nothing, and its age, the
    /// maximum age of events, the time without a survey that is an interruption, the wait after it before dates make events,
    /// and the time of that identity by the clock of the Redis that stored it.
    ///
    /// Returns the entries and bytes pending, the ages of the oldest entry and of the last intake (-1 for none), the dead
    /// letters, 1 if that identity is still there, the newest identity and its age (-1 for none), 1 if Redis may evict keys
    /// that never expire, if the identity is gone the age of the newest before it (-1 for none), 1 if dates make events by
    /// now, the time of the newest identity (0 for none), and the keys of states to forget.
    static let survey = RedisScript(
        EventScripts.append + ScriptPrelude.eviction + """
            local function age(milliseconds)
                milliseconds = stored(milliseconds)
                return milliseconds and string.format('%.0f', math.max(0, now - milliseconds)) or '-1'
            end
            local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
            local isKnown = ARGV[5] == '' or redis.call('ZSCORE', KEYS[2], ARGV[5])
            local earlier = {}
            if not isKnown then
                -- By its time, because requests take time, and by its age, because after a failover another clock counts.
                local last = math.min(tonumber(ARGV[10]) - 1, now - tonumber(ARGV[6]))
                earlier = redis.call(
                    'ZREVRANGEBYSCORE', KEYS[2], string.format('%.0f', last), '-inf', 'WITHSCORES', 'LIMIT', 0, 1)
            end
            local newest = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')
            redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '(' .. before(ARGV[1]))
            local dead = 0
            if redis.call('EXISTS', KEYS[4]) == 1 then
                redis.call('XTRIM', KEYS[4], 'MINID', before(ARGV[2]))
                dead = redis.call('XLEN', KEYS[4])
            end
            local entries = redis.call('XLEN', KEYS[1])
            -- After an interruption, notifications may say more than dates do: these wait until they have arrived.
            local surveyed = stored(redis.call('HGET', KEYS[3], 'surveyed')) or 0
            local resumed = stored(redis.call('HGET', KEYS[3], 'resumed')) or 0
            if now - surveyed > tonumber(ARGV[8]) or resumed > now then
                resumed = now
                redis.call('HSET', KEYS[3], 'resumed', stamp)
            end
            redis.call('HSET', KEYS[3], 'surveyed', stamp)
            local isCurrent = now - resumed >= tonumber(ARGV[9])
            local due = isCurrent and #redis.call('ZRANGEBYSCORE', KEYS[6], '-inf', stamp, 'LIMIT', 0, 1) or 0
            -- What an operator deleted was not subtracted.
            if entries == 0 and redis.call('HGET', KEYS[3], 'bytes') then redis.call('HSET', KEYS[3], 'bytes', 0) end
            local reply = {
                entries, stored(redis.call('HGET', KEYS[3], 'bytes')) or 0,
                age(first and string.match(first[1], '^%d+')), age(redis.call('HGET', KEYS[3], 'last')), dead,
                isKnown and 1 or 0, newest[1] or '', age(newest[2]),
                evicts() and 1 or 0, age(earlier[2]), due, stored(newest[2]) or 0,
            }
            for i = 7, 8 do trimLog(KEYS[i], ARGV[7]) end
            local old = redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', '(' .. before(ARGV[3]), 'LIMIT', 0, ARGV[4])
            for _, key in ipairs(old) do reply[#reply + 1] = key end
            return reply
            """)

    /// KEYS states, due, totals, events, the chain's record, its records under older names; ARGV for each record the
    /// fields and orders that were read from it, the next time at which dates make an event (negative for none), the
    /// maximum count and age of events, the numbers of words to set and of fields to remove, both, then the sealed
    /// events. Replaces the records by the first record. Returns 1; 0 if any record has changed since it was read.
    ///
    /// Also with a full memory, which refuses only the first write of a script if that needs memory: the notification
    /// that is removed afterwards is larger.
    static let merge = RedisScript(
        EventScripts.append + """
            redis.call('ZREM', KEYS[1], '')
            for i = 5, #KEYS do
                local fields, bytes, expected = redis.call('HGETALL', KEYS[i]), 0, ARGV[i - 4]
                for j = 1, #fields, 2 do
                    if #fields[j + 1] > \(SignedStateOrder.textBytes) then
                        local item = fields[j] .. ' ' .. string.sub(fields[j + 1], 1, \(SignedStateOrder.textBytes)) .. ','
                        if not string.find(expected, item, 1, true) then return 0 end
                        bytes = bytes + #item
                    end
                end
                if bytes ~= #expected then return 0 end
            end
            local first = #KEYS - 3
            local due, count, age = tonumber(ARGV[first]), ARGV[first + 1], ARGV[first + 2]
            local removed = first + 5 + tonumber(ARGV[first + 3])
            local events = removed + tonumber(ARGV[first + 4])
            -- A script that fails is not rolled back: events first, so that they are repeated and not lost.
            for i = events, #ARGV do appendEvent(KEYS[3], KEYS[4], ARGV[i], count, age) end
            for i = first + 5, removed - 1, 2 do redis.call('HSET', KEYS[5], ARGV[i], ARGV[i + 1]) end
            for i = removed, events - 1 do redis.call('HDEL', KEYS[5], ARGV[i]) end
            for i = 6, #KEYS do
                redis.call('DEL', KEYS[i])
                for j = 1, 2 do redis.call('ZREM', KEYS[j], KEYS[i]) end
            end
            redis.call('ZADD', KEYS[1], stamp, KEYS[5])
            if due >= 0 then
                redis.call('ZADD', KEYS[2], string.format('%.0f', due), KEYS[5])
            else
                redis.call('ZREM', KEYS[2], KEYS[5])
            end
            return 1
            """)

    /// KEYS due; ARGV maximum number, delay. Returns a time, and the keys of records that are due: dates make events by
    /// now. They are due again at that time, unless a merge sets another time. Also with a full memory, as `merge`.
    static let due = RedisScript(
        ScriptPrelude.clock + """
            redis.call('ZREM', KEYS[1], '')
            local keys = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', stamp, 'LIMIT', 0, ARGV[1])
            local later = string.format('%.0f', now + tonumber(ARGV[2]))
            for _, key in ipairs(keys) do redis.call('ZADD', KEYS[1], later, key) end
            table.insert(keys, 1, later)
            return keys
            """)

    /// KEYS due; ARGV a time, delay, keys of records. Those that are still due at that time are due after the delay, or
    /// never without a delay.
    static let reschedule = RedisScript(
        ScriptPrelude.clock + """
            redis.call('ZREM', KEYS[1], '')
            local later = ARGV[2] ~= '' and string.format('%.0f', now + tonumber(ARGV[2]))
            for i = 3, #ARGV do
                local score = redis.call('ZSCORE', KEYS[1], ARGV[i])
                if score and tonumber(score) == tonumber(ARGV[1]) then
                    if later then redis.call('ZADD', KEYS[1], later, ARGV[i]) else redis.call('ZREM', KEYS[1], ARGV[i]) end
                end
            end
            return 1
            """)

    /// KEYS states, due, keys of states; ARGV their minimum age. Deletes the states that have not changed within that
    /// age.
    static let drop = RedisScript(
        ScriptPrelude.clock + """
            for i = 3, #KEYS do
                local changed = redis.call('ZSCORE', KEYS[1], KEYS[i])
                if changed and tonumber(changed) < now - tonumber(ARGV[1]) then
                    redis.call('DEL', KEYS[i])
                    for j = 1, 2 do redis.call('ZREM', KEYS[j], KEYS[i]) end
                end
            end
            return 1
            """)
}
