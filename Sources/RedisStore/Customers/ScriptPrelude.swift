// SPDX-License-Identifier: Apache-2.0

internal import Redis

/// Lua functions for the beginning of scripts.
enum ScriptPrelude {
    /// The time of Redis in milliseconds: `now`, its digits `stamp`, and by `before(age)` the digits of an earlier time.
    static let clock = """
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        local stamp = string.format('%.0f', now)
        local function before(milliseconds) return string.format('%.0f', now - tonumber(milliseconds)) end

        """

    /// The functions by which scripts read and count numbers in Redis. Another writer may have stored anything in place of
    /// a number: it counts as none, and ends no script.
    ///
    /// `stored(text)` is a number of digits, nil for anything else. `count(key, field, change)` adds to a field of a hash,
    /// never below 0, and returns the sum. What cannot be added to begins anew.
    static let numbers = """
        local function stored(text)
            local digits = type(text) == 'string' and #text <= 16 and string.match(text, '^%d+$')
            return digits and tonumber(digits) or nil
        end
        local function count(key, field, change)
            local number, least = redis.pcall('HINCRBY', key, field, change), math.max(0, change)
            if type(number) == 'number' and number >= least and number <= \(RedisValue.Limits.integer) then return number end
            redis.call('HSET', key, field, least)
            return least
        end

        """

    /// `evicts()` returns true if Redis may evict keys that never expire.
    static let eviction = """
        local function evicts()
            local info = redis.pcall('INFO', 'memory')
            local policy = type(info) == 'string' and string.match(info, 'maxmemory_policy:([%w-]+)') or ''
            return policy ~= 'noeviction' and string.sub(policy, 1, 9) ~= 'volatile-'
        end

        """
}
