// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Redis

extension RedisPurges {
    static let scripts = [append, tail, restart]

    /// A Lua function. `position()` returns the history and the number of the head, the head, and the length of the
    /// log. It returns nothing without a head, or if nodes cannot read what another writer put in place of head or log.
    private static let position = """
        local function typed(reply)
            if type(reply) == 'table' and not string.find(reply.err, 'WRONGTYPE', 1, true) then error(reply) end
            return reply
        end
        local function position()
            local head, entries = typed(redis.pcall('GET', KEYS[1])), typed(redis.pcall('LLEN', KEYS[2]))
            if type(head) ~= 'string' or type(entries) ~= 'number' then return nil end
            local history, number, nonce = string.match(head, '^([1-9a-f]%x*):(%d+):(%x+)$')
            if not history or math.max(#history, #nonce) > 16 or #number > 14 then return nil end
            if tonumber(number) < entries then return nil end
            return history, tonumber(number), head, entries
        end

        """

    /// KEYS head, log; ARGV maximum entries, a new history's name, the last purge's nonce, the encrypted purges. Returns
    /// the new head.
    ///
    /// Also with a full memory, which refuses only the first write of a script if that needs memory: the log is bounded.
    static let append = RedisScript(
        position + """
            redis.pcall('LTRIM', KEYS[2], 0, -1)
            local history, number = position()
            if not history then
                redis.call('DEL', KEYS[2])
                history, number = ARGV[2], 0
            end
            for i = 4, #ARGV do redis.call('RPUSH', KEYS[2], ARGV[i]) end
            redis.call('LTRIM', KEYS[2], -tonumber(ARGV[1]), -1)
            local head = history .. string.format(':%.0f:', number + #ARGV - 3) .. ARGV[3]
            redis.call('SET', KEYS[1], head)
            return head
            """)

    /// KEYS head, log; ARGV the node's history and number, a new history's name, entries per page. Returns the head,
    /// the number of the first entry, and the entries from the last entry the node knows. Starts a history if there is
    /// none.
    static let tail = RedisScript(
        position + """
            local history, number, head, entries = position()
            if not history then
                redis.call('DEL', KEYS[2])
                head = ARGV[3] .. ':0:0'
                redis.call('SET', KEYS[1], head)
                return { head, '1' }
            end
            local missing = number - entries
            local known = history == ARGV[1] and tonumber(ARGV[2]) or 0
            local first = math.max(known, missing + 1, 1)
            local reply = { head, string.format('%.0f', math.min(first, number + 1)) }
            if first > number then return reply end
            local from = first - missing - 1
            for _, entry in ipairs(redis.call('LRANGE', KEYS[2], from, from + ARGV[4] - 1)) do reply[#reply + 1] = entry end
            return reply
            """)

    /// KEYS head, log; ARGV the head that lacks purges, a new history's name. Returns 1 if a new history began.
    package static let restart = RedisScript(
        """
        if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
        redis.call('DEL', KEYS[2])
        redis.call('SET', KEYS[1], ARGV[2] .. ':0:0')
        return 1
        """)
}
