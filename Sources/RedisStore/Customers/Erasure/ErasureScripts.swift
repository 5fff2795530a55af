// SPDX-License-Identifier: Apache-2.0

internal import Redis

/// The scripts that delete a customer's data from one partition. Each is atomic, and may be repeated.
enum ErasureScripts {
    static let all = [page, entries, deliveries, states]

    /// KEYS stream; ARGV the ID of the entry before, the maximum number and bytes of entries. Returns them.
    static let page = RedisScript(
        """
        local entries, bytes, after = {}, 0, ARGV[1]
        while #entries < tonumber(ARGV[2]) and bytes < tonumber(ARGV[3]) do
            local entry = redis.call('XRANGE', KEYS[1], '(' .. after, '+', 'COUNT', 1)[1]
            if not entry then break end
            for _, value in ipairs(entry[2]) do bytes = bytes + #value end
            entries[#entries + 1] = entry
            after = entry[1]
        end
        return entries
        """)

    /// KEYS totals, log, erased; ARGV the field of the newest position, the maximum number of entries, then ID and number
    /// of each. Deletes entries of a log, and records their numbers, so that no reader counts them as missed. Returns how
    /// many there were.
    static let entries = RedisScript(
        """
        local removed = 0
        for i = 3, #ARGV, 2 do
            if redis.call('XDEL', KEYS[2], ARGV[i]) == 1 then
                redis.call('ZADD', KEYS[3], ARGV[i + 1], ARGV[i + 1])
                removed = removed + 1
            end
        end
        local last = string.match(redis.call('HGET', KEYS[1], ARGV[1]) or '', '%d+$')
        -- Who has read no further than these has missed entries anyway.
        local oldest = (tonumber(last) or 0) - tonumber(ARGV[2])
        local kept = redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', 1)[1]
        if kept then oldest = math.min(oldest, (tonumber(kept[2][2]) or 0) - 1) end
        redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', string.format('%.0f', oldest))
        return removed
        """)

    /// KEYS erased, queue, held, dead, gaps; ARGV how many numbers of events follow, these numbers, and the names of
    /// gaps. Deletes the deliveries of these events and of deleted events, and ends the lease, so that the worker reads
    /// its state anew. Returns how many there were. Another event with such a number is one that a failover lost.
    static let deliveries = RedisScript(
        """
        local removed, gaps = 0, tonumber(ARGV[1]) + 2
        for i = 3, 4 do
            for j = 2, gaps - 1 do removed = removed + redis.call('ZREMRANGEBYSCORE', KEYS[i], ARGV[j], ARGV[j]) end
            local members = redis.call('ZRANGE', KEYS[i], 0, -1, 'WITHSCORES')
            for j = 1, #members, 2 do
                if redis.call('ZSCORE', KEYS[1], members[j + 1]) then
                    removed = removed + redis.call('ZREM', KEYS[i], members[j])
                end
            end
        end
        for i = gaps, #ARGV do redis.call('HDEL', KEYS[5], ARGV[i]) end
        if removed > 0 or redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HDEL', KEYS[2], 'token', 'until') end
        return removed
        """)

    /// KEYS states, due, keys of the states of chains. Returns how many there were.
    static let states = RedisScript(
        """
        local removed = 0
        for i = 3, #KEYS do
            removed = removed + redis.call('DEL', KEYS[i])
            for j = 1, 2 do redis.call('ZREM', KEYS[j], KEYS[i]) end
        end
        return removed
        """)
}
