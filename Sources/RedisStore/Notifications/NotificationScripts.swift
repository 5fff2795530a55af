// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Notifications
internal import Redis

/// The scripts over the keys of one partition. Each is atomic.
enum NotificationScripts {
    static let all = [store, take, finish, discard, survey, merge, drop]

    /// The name of the consumer group, and of its only consumer: a notification is taken over by its idle time, not by
    /// the node that took it.
    static let group = "gateway"

    /// KEYS pending, seen, totals; ARGV the notification, the age of identities to forget, 1 if Apple posted it, the
    /// identity's names, the first one to write. Returns the entry's ID and the bytes pending; for a known identity an empty list.
    ///
    /// The first write is one that a full memory refuses, so that nothing is written then.
    static let store = RedisScript(
        """
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        for i = 4, #ARGV do
            if redis.call('ZSCORE', KEYS[2], ARGV[i]) then
                -- A write, for which replicas can be waited for.
                redis.call('HINCRBY', KEYS[3], 'duplicates', 1)
                return {}
            end
        end
        if redis.call('EXISTS', KEYS[1]) == 0 then
            redis.call('XGROUP', 'CREATE', KEYS[1], '\(group)', '0', 'MKSTREAM')
        end
        local id = redis.call('XADD', KEYS[1], '*', 'n', ARGV[1])
        redis.call('ZADD', KEYS[2], string.format('%.0f', now), ARGV[4])
        if ARGV[3] == '1' then redis.call('HSET', KEYS[3], 'last', string.format('%.0f', now)) end
        local bytes = redis.call('HINCRBY', KEYS[3], 'bytes', #ARGV[1])
        redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', string.format('(%.0f', now - tonumber(ARGV[2])))
        return { id, bytes }
        """)

    /// KEYS pending; ARGV maximum entries, maximum bytes, the idle time after which one is taken over; negative for none.
    /// Returns the time, then ID and notification of each entry.
    static let take = RedisScript(
        """
        local time = redis.call('TIME')
        local taken = { string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)) }
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

    /// KEYS pending, totals; ARGV ID and bytes of each entry. Returns the number of removed entries.
    static let finish = RedisScript(
        """
        local removed = 0
        for i = 1, #ARGV, 2 do
            redis.call('XACK', KEYS[1], '\(group)', ARGV[i])
            if redis.call('XDEL', KEYS[1], ARGV[i]) == 1 then
                redis.call('HINCRBY', KEYS[2], 'bytes', -tonumber(ARGV[i + 1]))
                removed = removed + 1
            end
        end
        return removed
        """)

    /// KEYS pending, totals, dead; ARGV ID, bytes, reason, maximum dead letters. Moves an entry to the dead letters.
    static let discard = RedisScript(
        """
        local entry = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
        if entry then
            redis.call('XADD', KEYS[3], 'MAXLEN', ARGV[4], '*', 'n', entry[2][2], 'reason', ARGV[3], 'id', ARGV[1])
            redis.call('XDEL', KEYS[1], ARGV[1])
            redis.call('HINCRBY', KEYS[2], 'bytes', -tonumber(ARGV[2]))
        end
        redis.call('XACK', KEYS[1], '\(group)', ARGV[1])
        return 1
        """)

    /// KEYS pending, seen, totals, dead, states; ARGV the ages of identities, dead letters and states to forget, maximum
    /// number of states to name, the newest identity that the node knows or nothing, and its age. Returns the entries
    /// and bytes pending, the ages of the oldest one and of the last intake (-1 for none), the dead letters, 1 if that
    /// identity is still there, the newest identity and its age (-1 for none), `maxmemory-policy`, if the identity is gone
    /// the age of the newest before it (-1 for none), and the keys of states to forget.
    static let survey = RedisScript(
        """
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        local function age(milliseconds)
            return milliseconds and string.format('%.0f', math.max(0, now - tonumber(milliseconds))) or '-1'
        end
        local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
        local isKnown = ARGV[5] == '' or redis.call('ZSCORE', KEYS[2], ARGV[5])
        local before = {}
        if not isKnown then
            before = redis.call(
                'ZREVRANGEBYSCORE', KEYS[2], string.format('%.0f', now - tonumber(ARGV[6])), '-inf', 'WITHSCORES',
                'LIMIT', 0, 1)
        end
        local newest = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')
        redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', string.format('(%.0f', now - tonumber(ARGV[1])))
        local dead = 0
        if redis.call('EXISTS', KEYS[4]) == 1 then
            redis.call('XTRIM', KEYS[4], 'MINID', string.format('%.0f', now - tonumber(ARGV[2])))
            dead = redis.call('XLEN', KEYS[4])
        end
        local info = redis.pcall('INFO', 'memory')
        local entries = redis.call('XLEN', KEYS[1])
        -- What an operator deleted was not subtracted.
        if entries == 0 and redis.call('HGET', KEYS[3], 'bytes') then redis.call('HSET', KEYS[3], 'bytes', 0) end
        local reply = {
            entries, tonumber(redis.call('HGET', KEYS[3], 'bytes') or 0),
            age(first and string.match(first[1], '^%d+')), age(redis.call('HGET', KEYS[3], 'last')), dead,
            isKnown and 1 or 0, newest[1] or '', age(newest[2]),
            type(info) == 'string' and string.match(info, 'maxmemory_policy:([%w-]+)') or '',
            age(before[2]),
        }
        local old = redis.call(
            'ZRANGEBYSCORE', KEYS[5], '-inf', string.format('(%.0f', now - tonumber(ARGV[3])), 'LIMIT', 0, ARGV[4])
        for _, key in ipairs(old) do reply[#reply + 1] = key end
        return reply
        """)

    /// KEYS states, the chain's state, its states under older names; ARGV maximum transactions, for each older name the
    /// fields and orders that were read from it, then field, order and encrypted form of each item. Returns the number
    /// of items that replaced an older one or none.
    ///
    /// Also with a full memory, which refuses only the first write of a script if that needs memory: the notification
    /// that is removed afterwards is larger.
    static let merge = RedisScript(
        """
        redis.call('ZREM', KEYS[1], '')
        local changed, first = 0, #KEYS
        for i = first, #ARGV, 3 do
            local known = redis.call('HGET', KEYS[2], ARGV[i])
            if not known or string.sub(known, 1, #ARGV[i + 1]) < ARGV[i + 1] then
                redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1] .. ARGV[i + 2])
                changed = changed + 1
            end
        end
        for i = 3, #KEYS do
            local fields, bytes, isKnown = redis.call('HGETALL', KEYS[i]), 0, true
            for j = 1, #fields, 2 do
                local item = fields[j] .. ' ' .. string.sub(fields[j + 1], 1, \(SignedStateOrder.textBytes)) .. ','
                isKnown = isKnown and string.find(ARGV[i - 1], item, 1, true)
                bytes = bytes + #item
            end
            -- Only if nothing was added since it was read.
            if isKnown and bytes > 0 and bytes == #ARGV[i - 1] then
                redis.call('DEL', KEYS[i])
                redis.call('ZREM', KEYS[1], KEYS[i])
            end
        end
        if changed == 0 then return 0 end
        local time = redis.call('TIME')
        redis.call('ZADD', KEYS[1], string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)), KEYS[2])
        local surplus = redis.call('HLEN', KEYS[2]) - redis.call('HEXISTS', KEYS[2], 'r') - tonumber(ARGV[1])
        if surplus > 0 then
            local fields, transactions = redis.call('HGETALL', KEYS[2]), {}
            for j = 1, #fields, 2 do
                if fields[j] ~= 'r' then
                    transactions[#transactions + 1] =
                        { string.sub(fields[j + 1], 1, \(SignedStateOrder.textBytes)), fields[j] }
                end
            end
            table.sort(transactions, function(one, other) return one[1] < other[1] end)
            for j = 1, surplus do redis.call('HDEL', KEYS[2], transactions[j][2]) end
        end
        return changed
        """)

    /// KEYS states, keys of states; ARGV their minimum age. Deletes those that have not changed since.
    static let drop = RedisScript(
        """
        local time = redis.call('TIME')
        local limit = time[1] * 1000 + math.floor(time[2] / 1000) - tonumber(ARGV[1])
        for i = 2, #KEYS do
            local changed = redis.call('ZSCORE', KEYS[1], KEYS[i])
            if changed and tonumber(changed) < limit then
                redis.call('DEL', KEYS[i])
                redis.call('ZREM', KEYS[1], KEYS[i])
            end
        end
        return 1
        """)
}
