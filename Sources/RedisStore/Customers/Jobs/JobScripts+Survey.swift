// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Redis

// The scripts that concern many jobs.
extension JobScripts {
    /// ARGV the age of ended jobs to forget, and how many. Returns the number and bytes of waiting jobs, the age of the
    /// oldest job (-1 for none), the number of failed jobs, and the bytes of kept verdicts.
    static let survey = RedisScript(
        functions + """
            local left, verdicts = tonumber(ARGV[2]), 0
            for _, key in ipairs(statuses) do
                local old = key == waiting and {}
                    or redis.call('ZRANGEBYSCORE', key, '-inf', '(' .. before(ARGV[1]), 'LIMIT', 0, left)
                for _, id in ipairs(old) do forget(id) end
                left = left - #old
                if key ~= waiting then verdicts = verdicts + redis.call('ZCARD', key) end
            end
            local number, bytes = redis.call('ZCARD', waiting), verdicts > 0 and kept() or 0
            -- The bytes of a job that an operator deleted were not subtracted.
            local fields = number == 0 and redis.call('HGETALL', usage) or {}
            for i = 1, #fields, 2 do
                if verdicts == 0 or not string.match(fields[i], 'kept$') then redis.call('HDEL', usage, fields[i]) end
            end
            local oldest = stored(redis.call('ZRANGE', waiting, 0, 0, 'WITHSCORES')[2])
            return {
                number, stored(redis.call('HGET', usage, 'total')) or 0,
                oldest and text(math.max(0, now - oldest)) or '-1',
                redis.call('ZCARD', '\(JobKeys.jobs(.failed))'), bytes,
            }
            """)

    /// ARGV maximum number, names of customers. Deletes jobs about them, and returns how many.
    static let erase = RedisScript(
        functions + """
            local left = tonumber(ARGV[1])
            for i = 2, #ARGV do
                local ids = left > 0 and redis.call('ZRANGE', about(ARGV[i]), 0, left - 1) or {}
                for _, id in ipairs(ids) do
                    forget(id)
                    redis.call('ZREM', about(ARGV[i]), id)
                end
                left = left - #ids
            end
            return tonumber(ARGV[1]) - left
            """)
}
