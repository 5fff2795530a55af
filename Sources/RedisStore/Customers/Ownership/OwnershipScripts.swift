// SPDX-License-Identifier: Apache-2.0

internal import Redis

/// The scripts over the keys of one partition, or of the index of accounts. Each is atomic.
enum OwnershipScripts {
    enum Limits {
        /// The chains of an account that are looked through at each use.
        static let shortIndex = 64
    }

    static let all = [use, index, drop, report, leave, forget, unindex]

    /// The scripts that run while a client waits.
    static let ofRequests = [use, index]

    /// KEYS owners, the chain's record under each name; ARGV 1 for a transfer, the retention, the window, the accounts
    /// permitted within it, the maximum number of accounts in a record, the maximum number of old records to name, an
    /// owner to ignore and its tag (empty for none), the names of the chain, the names of the account, each with its
    /// tag as the owner. Returns the binding, the number of accounts within the window if it is suspicious and not
    /// reported (else 0), the accounts that made room, names of records that are too old, and the owner that was found
    /// with its tag.
    ///
    /// Only the caller can verify the tag of another account. If the owner's tag is wrong, the call is repeated without
    /// this owner. A name of this account with another tag than its own owns nothing.
    ///
    /// Accounts named under a key that is not configured count as forgotten. A full memory refuses the first write, so
    /// that nothing is written then.
    static let use = RedisScript(
        ScriptPrelude.numbers + ScriptPrelude.clock + """
            local count = #KEYS - 1
            local retention, window = tonumber(ARGV[2]), tonumber(ARGV[3])
            local own, ownTag, tags, isConfigured = ARGV[9 + count], ARGV[10 + count], {}, {}
            for i = 9 + count, #ARGV, 2 do tags[ARGV[i]] = ARGV[i + 1] end
            local function keyID(account) return string.match(account, '^[^:]*') end
            local function old()
                return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. before(retention), 'LIMIT', 0, ARGV[6])
            end

            -- The usual case, without a look at all accounts: owner and account are known, and no report is due.
            local function knownBinding()
                local record = redis.pcall('HMGET', KEYS[2], 'o', 's' .. own, 'r', 't')
                if ARGV[1] == '1' or ARGV[7] ~= '' or record.err or not record[1] then return nil end
                for i = 2, count do
                    if redis.call('EXISTS', KEYS[i + 1]) == 1 then return nil end
                end
                local owned = redis.call('HGET', KEYS[2], 's' .. record[1])
                local isReported = (stored(record[3]) or 0) > now - window
                local isRecent = math.min(stored(record[2]) or 0, stored(owned) or 0) >= now - retention
                local isInnocent = isReported or redis.call('HLEN', KEYS[2]) - 2 <= tonumber(ARGV[4])
                if not (isRecent and isInnocent) then return nil end
                if record[1] == own and record[4] == ownTag then return 'same' end
                if tags[record[1]] or keyID(record[1]) ~= keyID(own) then return nil end
                return 'other', record[1], record[4]
            end
            local known, knownOwner, knownTag = knownBinding()
            if known then
                redis.call('HSET', KEYS[2], 's' .. own, stamp)
                redis.call('ZADD', KEYS[1], stamp, ARGV[9])
                return { known, 0, {}, old(), knownOwner or '', knownTag or '' }
            end
            for name in pairs(tags) do isConfigured[keyID(name)] = true end

            local found, owner, tag, hasUsed, reported, seen = nil, nil, '', false, 0, {}
            for i = 1, count do
                local fields = redis.call('HGETALL', KEYS[i + 1])
                if #fields > 0 then found = found or i end
                local recorded = redis.call('HMGET', KEYS[i + 1], 'o', 't')
                if recorded[1] == ARGV[7] and (recorded[2] or '') == ARGV[8] then recorded = {} end
                if tags[recorded[1]] and tags[recorded[1]] ~= recorded[2] then recorded = {} end
                if recorded[1] and not owner then owner, tag = recorded[1], recorded[2] or '' end
                for j = 1, #fields, 2 do
                    local field, account, used = fields[j], string.sub(fields[j], 2), stored(fields[j + 1]) or 0
                    if field == 'r' then
                        reported = math.max(reported, used)
                    elseif used >= now - retention and tags[account] then
                        hasUsed = true
                    elseif used >= now - retention and isConfigured[keyID(account)] then
                        seen[account] = math.max(seen[account] or 0, used)
                    end
                end
            end

            local foundOwner, foundTag = owner or '', tag
            local binding = 'other'
            if owner and tags[owner] and hasUsed then
                binding = 'same'
            elseif ARGV[1] == '1' or not owner or not seen[owner] then
                binding = 'new'
            end
            if binding ~= 'other' then found, owner, tag = 1, own, ownTag end

            seen[own] = now
            local accounts, surplus, recent = {}, {}, 0
            for account in pairs(seen) do accounts[#accounts + 1] = account end
            table.sort(accounts, function(one, other)
                if seen[one] ~= seen[other] then return seen[one] > seen[other] end
                return one < other
            end)
            for i = #accounts, 1, -1 do
                if #accounts <= tonumber(ARGV[5]) then break end
                if accounts[i] ~= own and accounts[i] ~= owner then surplus[#surplus + 1] = table.remove(accounts, i) end
            end

            local fields = { 'o', owner, 't', tag }
            if reported > 0 then
                fields[5], fields[6] = 'r', string.format('%.0f', reported)
            end
            for _, account in ipairs(accounts) do
                if seen[account] >= now - window then recent = recent + 1 end
                fields[#fields + 1] = 's' .. account
                fields[#fields + 1] = string.format('%.0f', seen[account])
            end
            redis.call('ZADD', KEYS[1], stamp, ARGV[8 + found])
            for i = 1, count do
                redis.call('DEL', KEYS[i + 1])
                if i ~= found then redis.call('ZREM', KEYS[1], ARGV[8 + i]) end
            end
            redis.call('HSET', KEYS[found + 1], unpack(fields))
            if recent <= tonumber(ARGV[4]) or reported > now - window then recent = 0 end
            -- Only that of another account is left to verify.
            if binding ~= 'other' then foundOwner, foundTag = '', '' end
            return { binding, recent, surplus, old(), foundOwner, foundTag }
            """)

    /// KEYS chains, accounts; ARGV the retention, the maximum number of chains, the maximum number of old accounts to
    /// name, the account's name, then name and encrypted form of each chain. Returns names of accounts that are too old.
    static let index = RedisScript(
        ScriptPrelude.numbers + ScriptPrelude.clock + """
            redis.call('ZADD', KEYS[2], stamp, ARGV[4])
            for i = 5, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], stamp .. ' ' .. ARGV[i + 1]) end
            -- A long index is read as a whole when it is full, and now and then for what is too old.
            local length = redis.call('HLEN', KEYS[1])
            if length <= \(Limits.shortIndex) or length > tonumber(ARGV[2]) or now % 64 == 0 then
                local fields, chains = redis.call('HGETALL', KEYS[1]), {}
                for i = 1, #fields, 2 do
                    chains[#chains + 1] = { stored(string.match(fields[i + 1], '^%d+')) or 0, fields[i] }
                end
                table.sort(chains, function(one, other) return one[1] > other[1] end)
                for i, chain in ipairs(chains) do
                    if i > tonumber(ARGV[2]) or chain[1] < now - tonumber(ARGV[1]) then
                        redis.call('HDEL', KEYS[1], chain[2])
                    end
                end
            end
            return redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', '(' .. before(ARGV[1]), 'LIMIT', 0, ARGV[3])
            """)

    /// KEYS owners or accounts, the keys of entries; ARGV their minimum age, their names. Deletes the entries that were
    /// not used within that age.
    static let drop = RedisScript(
        ScriptPrelude.clock + """
            for i = 2, #KEYS do
                local used = redis.call('ZSCORE', KEYS[1], ARGV[i])
                if used and tonumber(used) < now - tonumber(ARGV[1]) then
                    redis.call('DEL', KEYS[i])
                    redis.call('ZREM', KEYS[1], ARGV[i])
                end
            end
            return 1
            """)

    /// KEYS totals, events, the chain's record under each name; ARGV the maximum number and age of events, the event,
    /// the window. Returns 1 if the event was added; 0 if the window has an event already, or the chain has no record.
    static let report = RedisScript(
        EventScripts.append + """
            local marked
            for i = 3, #KEYS do
                local reported = stored(redis.call('HGET', KEYS[i], 'r'))
                if reported and reported > now - tonumber(ARGV[4]) then return 0 end
                if not marked and redis.call('EXISTS', KEYS[i]) == 1 then marked = KEYS[i] end
            end
            if not marked then return 0 end
            appendEvent(KEYS[1], KEYS[2], ARGV[3], ARGV[1], ARGV[2])
            redis.call('HSET', marked, 'r', stamp)
            return 1
            """)

    /// KEYS owners, the chain's record under each name; ARGV the names of the chain, the names of an account. Removes
    /// the account, and a record without another account. Returns 1 if the account was there.
    static let leave = RedisScript(
        """
        local count, hasLeft = #KEYS - 1, 0
        for i = 1, count do
            local key = KEYS[i + 1]
            local fields, isOwn, others = redis.pcall('HGETALL', key), {}, 0
            for j = count + 1, #ARGV do isOwn[ARGV[j]] = true end
            for j = 1, #fields, 2 do
                local account = fields[j] == 'o' and fields[j + 1] or string.sub(fields[j], 2)
                if isOwn[account] then
                    hasLeft = redis.call('HDEL', key, fields[j])
                    if fields[j] == 'o' then redis.call('HDEL', key, 't') end
                elseif fields[j] ~= 'r' and fields[j] ~= 't' then
                    others = others + 1
                end
            end
            if #fields > 0 and others == 0 then
                redis.call('DEL', key)
                redis.call('ZREM', KEYS[1], ARGV[i])
            end
        end
        return hasLeft
        """)

    /// KEYS owners, the chain's record under each name; ARGV the names of the chain. Deletes the record. Returns 1 if
    /// there was a record, then the fields of its accounts.
    static let forget = RedisScript(
        """
        local removed = { 0 }
        for i = 2, #KEYS do
            local fields = redis.pcall('HGETALL', KEYS[i])
            for j = 1, #fields, 2 do removed[#removed + 1] = fields[j] end
            if redis.call('DEL', KEYS[i]) == 1 then removed[1] = 1 end
            redis.call('ZREM', KEYS[1], ARGV[i - 1])
        end
        return removed
        """)

    /// KEYS chains, accounts; ARGV the account's name, a minimum age or 0, the names of chains. Removes the named
    /// chains from the index unless they were used within that age; without chains, removes the account.
    static let unindex = RedisScript(
        ScriptPrelude.numbers + ScriptPrelude.clock + """
            if #ARGV == 2 then redis.call('DEL', KEYS[1]) end
            for i = 3, #ARGV do
                local value = redis.pcall('HGET', KEYS[1], ARGV[i])
                local used = type(value) == 'string' and stored(string.match(value, '^%d+')) or 0
                if ARGV[2] == '0' or used <= now - tonumber(ARGV[2]) then redis.pcall('HDEL', KEYS[1], ARGV[i]) end
            end
            if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('ZREM', KEYS[2], ARGV[1]) end
            return 1
            """)
}
