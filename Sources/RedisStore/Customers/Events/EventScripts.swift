// SPDX-License-Identifier: Apache-2.0

package import Customers
package import Redis

/// The scripts over the logs of one partition. Most events are written inside the scripts that find the changes.
enum EventScripts {
    static let all = [read, add]

    /// Lua functions for the beginning of a script.
    ///
    /// `appendEvent(totals, log, value, maximum, age)` and `appendRelayed(…, size)` write an entry and remove surplus
    /// entries. `totals` and `log` are keys, `value` is encrypted, the next two are the words of `EventRetention`, and
    /// `size` is a maximum of bytes. `trimLog(log, age)` removes entries that are too old, also from a log without new
    /// entries.
    ///
    /// `totals` has the bytes of all relayed entries ever, and the bytes before the oldest kept entry, as far as they
    /// are known. Entries that ended by number or age are found once the log seems too large. The field `b` of an entry
    /// has the bytes up to and including the entry.
    static let append =
        ScriptPrelude.numbers + ScriptPrelude.clock + """
            local function trimLog(log, age)
                if redis.call('EXISTS', log) == 0 then return end
                redis.call('XTRIM', log, 'MINID', string.format('%.0f', math.max(0, now - tonumber(age))))
            end
            local function appendEntry(totals, log, stream, field, value, maximum, age, ...)
                local number = count(totals, stream, 1)
                local id = redis.call('XADD', log, 'MAXLEN', maximum, '*', 'i', number, field, value, ...)
                redis.call('HSET', totals, stream .. ':last', string.format('%s-%.0f', id, number))
                trimLog(log, age)
            end
            local function appendEvent(totals, log, value, maximum, age)
                appendEntry(totals, log, '\(EventStream.events.rawValue)', 'e', value, maximum, age)
            end
            local function appendRelayed(totals, log, value, maximum, age, size)
                local written = count(totals, '\(EventStream.relay.rawValue):bytes', #value)
                appendEntry(totals, log, '\(EventStream.relay.rawValue)', 'n', value, maximum, age, 'b', written)
                local before = stored(redis.call('HGET', totals, '\(EventStream.relay.rawValue):before')) or 0
                if not (before <= written) then before = 0 end
                -- A smaller limit is reached step by step.
                for _ = 1, 64 do
                    if written - before <= tonumber(size) then break end
                    local entries = redis.call('XRANGE', log, '-', '+', 'COUNT', 2)
                    if #entries < 2 then break end
                    local last = stored(entries[1][2][6]) or 0
                    if not (last <= written) then last = 0 end
                    before = last - #(entries[1][2][4] or '')
                    if written - before > tonumber(size) then
                        redis.call('XDEL', log, entries[1][1])
                        before = last
                    end
                end
                redis.call('HSET', totals, '\(EventStream.relay.rawValue):before', string.format('%.0f', math.max(0, before)))
            end

            """

    /// KEYS totals, log; ARGV the maximum number and age of events, the event. Adds it.
    static let add = RedisScript(append + "appendEvent(KEYS[1], KEYS[2], ARGV[3], ARGV[1], ARGV[2]) return 1")

    /// KEYS totals, log, erased; ARGV the stream, the ID of the entry before, the maximum number and bytes of entries,
    /// the number of the entry before, and 1 if an entry had this position. Returns the position of the newest entry, or
    /// nothing, the entries, the number of deleted entries before them, and 0 if the entry at that position is not the
    /// one that was read. The first entry may be larger.
    static let read = RedisScript(
        """
        local entries, bytes, after = {}, 0, ARGV[2]
        while #entries < tonumber(ARGV[3]) do
            local entry = redis.call('XRANGE', KEYS[2], '(' .. after, '+', 'COUNT', 1)[1]
            if not entry then break end
            for _, value in ipairs(entry[2]) do bytes = bytes + #value end
            if bytes > tonumber(ARGV[4]) and #entries > 0 then break end
            entries[#entries + 1] = entry
            after = entry[1]
        end
        local first = entries[1] and (tonumber(entries[1][2][2]) or 0)
        local erased = 0
        if not first or first > ARGV[5] + 1 then
            local before = first and string.format('(%.0f', first) or '+inf'
            erased = #redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. ARGV[5], before)
        end
        -- An entry is removed after all entries before it, or with a customer's data.
        local function isSame()
            local entry = redis.call('XRANGE', KEYS[2], ARGV[2], ARGV[2])[1]
            if entry then return tonumber(entry[2][2]) == tonumber(ARGV[5]) end
            return #redis.call('XRANGE', KEYS[2], '-', '(' .. ARGV[2], 'COUNT', 1) == 0
                or #redis.call('ZRANGEBYSCORE', KEYS[3], ARGV[5], ARGV[5]) > 0
        end
        local same = (ARGV[6] ~= '1' or isSame()) and 1 or 0
        return { redis.call('HGET', KEYS[1], ARGV[1] .. ':last') or '', entries, erased, same }
        """)
}

/// The maximum number of entries in one partition, and their maximum age.
extension EventRetention: RedisArgument {
    package func write(to words: inout [RedisWord]) {
        words += [RedisWord(maximumCountOfPartition)] + maximumAge.redisWords
    }

    /// Of relayed notifications also the maximum bytes.
    var relayWords: [RedisWord] { redisWords + [RedisWord(maximumRelayBytesOfPartition)] }
}
