// SPDX-License-Identifier: Apache-2.0

internal import Redis

/// The scripts over the deliveries of one partition to one endpoint. Each is atomic.
///
/// The queue's hash has the fields `position`, `disabled` (the time of a 410), and for the lease `token` and `until`
/// (by the clock of Redis). Held and dead events are members of sorted sets by their number in the partition. Each begins with
/// its position: after a failover, another event may have the same number.
enum DeliveryScripts {
    static let all = [begin, acquire, save, release, survey, redeliver, rewind, enable, drop]

    private static let functions =
        ScriptPrelude.numbers + ScriptPrelude.clock + """
            local function milliseconds(text) return stored(string.match(text, '^%d+')) end
            local function place(member) return string.match(member, '^%S+') end
            local function remove(key, position)
                local number = string.match(position, '%d+$')
                for _, member in ipairs(redis.call('ZRANGEBYSCORE', key, number, number)) do
                    if place(member) == position then return redis.call('ZREM', key, member) end
                end
                return 0
            end
            local function replace(key, number, member)
                remove(key, place(member))
                redis.call('ZADD', key, number, member)
            end
            local function trimDead(key, maximum, age)
                local surplus = redis.call('ZCARD', key) - tonumber(maximum)
                while true do
                    local first = redis.call('ZRANGE', key, 0, 0)[1]
                    if not first or surplus <= 0 and (milliseconds(first) or 0) >= now - tonumber(age) then break end
                    redis.call('ZREM', key, first)
                    surplus = surplus - 1
                end
            end
            local function register(queues, queue) redis.call('ZADD', queues, stamp, queue) end

            """

    /// KEYS queue, totals, queues; ARGV the field of the newest position. Sets the position of a new queue.
    static let begin = RedisScript(
        functions + """
            redis.call('ZREM', KEYS[3], '')
            if redis.call('HEXISTS', KEYS[1], 'position') == 1 then return 0 end
            redis.call('HSET', KEYS[1], 'position', redis.call('HGET', KEYS[2], ARGV[1]) or '0-0-0')
            register(KEYS[3], KEYS[1])
            return 1
            """)

    /// KEYS queue, held, gaps, totals, queues; ARGV the new token, the token that this node had, the lease, the field of
    /// the newest position, the age and the number of queues to forget. Returns position, time of a 410 or nothing, held
    /// events, gaps, and queues to forget; for a queue with a lease an empty list.
    ///
    /// Its first write needs no memory, so a full Redis runs it whole. The same holds for `save`.
    static let acquire = RedisScript(
        functions + """
            local lease = stored(redis.call('HGET', KEYS[1], 'until'))
            local isOwn = redis.call('HGET', KEYS[1], 'token') == ARGV[2]
            if lease and lease > now and not isOwn then return {} end
            redis.call('ZREM', KEYS[5], '')
            if redis.call('HEXISTS', KEYS[1], 'position') == 0 then
                redis.call('HSET', KEYS[1], 'position', redis.call('HGET', KEYS[4], ARGV[4]) or '0-0-0')
            end
            redis.call('HSET', KEYS[1], 'token', ARGV[1])
            redis.call('HSET', KEYS[1], 'until', string.format('%.0f', now + tonumber(ARGV[3])))
            register(KEYS[5], KEYS[1])
            return {
                redis.call('HGET', KEYS[1], 'position'), redis.call('HGET', KEYS[1], 'disabled') or '',
                redis.call('ZRANGE', KEYS[2], 0, -1), redis.call('HGETALL', KEYS[3]),
                redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', '(' .. before(ARGV[5]), 'LIMIT', 0, ARGV[6]),
            }
            """)

    /// KEYS queue, held, gaps, dead, queues; ARGV the token, the lease, the position or nothing, the time of a 410 or
    /// nothing, the maximum number and age of dead events, the maximum number of gaps; the numbers of words that
    /// follow: held events and dead events with their numbers, the positions of removed events, gaps with their names,
    /// and the names of gaps that end. Returns 1; 0 without the lease.
    static let save = RedisScript(
        functions + """
            if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
            redis.call('ZREM', KEYS[5], '')
            local held = 12
            local dead = held + tonumber(ARGV[8])
            local removed = dead + tonumber(ARGV[9])
            local gaps = removed + tonumber(ARGV[10])
            local ended = gaps + tonumber(ARGV[11])
            for i = held, dead - 1, 2 do replace(KEYS[2], ARGV[i], ARGV[i + 1]) end
            for i = dead, removed - 1, 2 do replace(KEYS[4], ARGV[i], ARGV[i + 1]) end
            for i = removed, gaps - 1 do remove(KEYS[2], ARGV[i]) end
            for i = gaps, ended - 1, 2 do redis.call('HSET', KEYS[3], ARGV[i], stamp .. ' ' .. ARGV[i + 1]) end
            for i = ended, #ARGV do redis.call('HDEL', KEYS[3], ARGV[i]) end
            if removed > dead then trimDead(KEYS[4], ARGV[5], ARGV[6]) end
            local maximum = tonumber(ARGV[7])
            if redis.call('HLEN', KEYS[3]) > maximum then
                local fields, oldest = redis.call('HGETALL', KEYS[3]), {}
                for i = 1, #fields, 2 do oldest[#oldest + 1] = { milliseconds(fields[i + 1]) or 0, fields[i] } end
                table.sort(oldest, function(one, other) return one[1] < other[1] end)
                -- Some more than needed, so that this is rare.
                for i = 1, #oldest - math.floor(maximum * 7 / 8) do redis.call('HDEL', KEYS[3], oldest[i][2]) end
            end
            if ARGV[3] ~= '' then redis.call('HSET', KEYS[1], 'position', ARGV[3]) end
            if ARGV[4] ~= '' then redis.call('HSET', KEYS[1], 'disabled', ARGV[4]) end
            redis.call('HSET', KEYS[1], 'until', string.format('%.0f', now + tonumber(ARGV[2])))
            register(KEYS[5], KEYS[1])
            return 1
            """)

    /// KEYS queue; ARGV the token. Ends the lease.
    static let release = RedisScript(
        """
        if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
        return redis.call('HDEL', KEYS[1], 'token', 'until')
        """)

    /// KEYS queue, held, dead, totals, log; ARGV the field of the newest position, the maximum number and age of dead
    /// events. Returns position or nothing, time of a 410 or nothing, the numbers of held, dead and unread events, the
    /// age of the oldest event that is not delivered (-1 for none), and 1 if the queue has a lease.
    static let survey = RedisScript(
        functions + """
            trimDead(KEYS[3], ARGV[2], ARGV[3])
            local position = redis.call('HGET', KEYS[1], 'position')
            local oldest = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
            oldest = oldest and milliseconds(oldest)
            local unread = 0
            if position then
                local after = string.match(position, '^%d+%-%d+') or '0-0'
                local entry = redis.call('XRANGE', KEYS[5], '(' .. after, '+', 'COUNT', 1)[1]
                local last = redis.call('HGET', KEYS[4], ARGV[1])
                if entry and last then
                    unread = (stored(string.match(last, '%d+$')) or 0) - (stored(entry[2][2]) or 0) + 1
                    oldest = math.min(oldest or now, milliseconds(entry[1]))
                end
            end
            local lease = stored(redis.call('HGET', KEYS[1], 'until'))
            return {
                position or '', redis.call('HGET', KEYS[1], 'disabled') or '', redis.call('ZCARD', KEYS[2]),
                redis.call('ZCARD', KEYS[3]), math.max(0, unread),
                oldest and string.format('%.0f', math.max(0, now - oldest)) or '-1',
                lease and lease > now and 1 or 0,
            }
            """)

    /// KEYS queue, held, dead; ARGV number and held form of each event. Returns how many were dead, and are held now.
    static let redeliver = RedisScript(
        functions + """
            local moved = 0
            for i = 1, #ARGV, 2 do
                if remove(KEYS[3], place(ARGV[i + 1])) == 1 then
                    replace(KEYS[2], ARGV[i], ARGV[i + 1])
                    moved = moved + 1
                end
            end
            if moved > 0 then redis.call('HDEL', KEYS[1], 'token', 'until') end
            return moved
            """)

    /// KEYS queue, held, queues; ARGV the position, and the lowest number of events that are read again.
    static let rewind = RedisScript(
        functions + """
            redis.call('HDEL', KEYS[1], 'token', 'until', 'disabled')
            redis.call('HSET', KEYS[1], 'position', ARGV[1])
            redis.call('ZREMRANGEBYSCORE', KEYS[2], ARGV[2], '+inf')
            register(KEYS[3], KEYS[1])
            return 1
            """)

    /// KEYS queue.
    static let enable = RedisScript(
        """
        return redis.call('HDEL', KEYS[1], 'token', 'until', 'disabled')
        """)

    /// KEYS queues, then queue, held, gaps and dead of each to forget; ARGV their minimum age. Deletes the queues that
    /// nothing was saved to within that age.
    static let drop = RedisScript(
        functions + """
            for i = 2, #KEYS, 4 do
                local saved = redis.call('ZSCORE', KEYS[1], KEYS[i])
                if saved and tonumber(saved) < now - tonumber(ARGV[1]) then
                    for j = i, i + 3 do redis.call('DEL', KEYS[j]) end
                    redis.call('ZREM', KEYS[1], KEYS[i])
                end
            end
            return 1
            """)
}
