// SPDX-License-Identifier: Apache-2.0

package import Redis
internal import Resilience

/// The fleet's token buckets in Redis: one key each, one script call for all buckets of a request.
///
/// A key is `rl:{<client>}:<policy>:<its numbers>:<subject>`, with pseudonymous names for client and subject. The
/// braces decide the hash slot, so that all buckets of a client are on one node of a cluster. A policy with changed
/// numbers has a new key and a full bucket.
package struct RedisTokenBuckets: SharedBuckets {
    let redis: any RedisCommands
    let names: StoreNames

    func take(_ order: TokenRequest) async throws(SharedBucketsFault) -> TokenGrant {
        let keys = order.lines.map { RedisWord(key(of: $0.charge.bucket)) }
        let arguments = [RedisWord(order.requests)] + order.lines.flatMap(Self.arguments)
        guard let reply = try? await redis.run(Self.script, keys: keys, arguments),
            let grant = TokenGrant(reply, for: order)
        else { throw SharedBucketsFault() }
        return grant
    }

    func key(of bucket: RateBucket) -> String {
        let client = names.name("rate tenant", [Array(bucket.client.utf8)])
        let subject = names.name("rate subject", [Array(bucket.client.utf8), Array(bucket.subject.utf8)])
        let policy = bucket.policy
        let numbers = "\(policy.burst)-\(policy.emissionMicroseconds)"
        return "rl:{\(client)}:\(policy.name):\(numbers):\(subject)"
    }

    private static func arguments(for line: TokenRequest.Line) -> [RedisWord] {
        let policy = line.charge.bucket.policy
        return [
            RedisWord(policy.burst), RedisWord(policy.emissionMicroseconds), RedisWord(line.charge.cost),
            RedisWord(line.prepaid), RedisWord(line.inAdvance), RedisWord(line.life.wholeMicroseconds),
            policy.isShadow ? 1 : 0,
        ]
    }

    package static let script = RedisScript(
        """
        -- KEYS: one for each bucket. A value is the time at which the bucket is full, in µs of Redis's clock (GCRA).
        -- ARGV: the number of equal requests; then per bucket: its capacity, µs for one token, cost of a request,
        -- tokens the node has already, tokens wanted in advance, their life in µs, 1 for shadow mode.
        local time = redis.call('TIME')
        local now = time[1] * 1000000 + time[2]
        local requests = tonumber(ARGV[1])
        local admitted = requests
        local buckets = {}
        for i = 1, #KEYS do
            local a = 1 + (i - 1) * 7
            local b = { capacity = tonumber(ARGV[a + 1]), interval = tonumber(ARGV[a + 2]), cost = tonumber(ARGV[a + 3]),
                prepaid = tonumber(ARGV[a + 4]), wanted = tonumber(ARGV[a + 5]), life = tonumber(ARGV[a + 6]),
                shadow = ARGV[a + 7] == '1' }
            b.empty = b.capacity * b.interval
            -- Any stored value, of any type, becomes a time between now (full) and that of an empty bucket.
            local stored = redis.pcall('GET', KEYS[i])
            stored = type(stored) == 'string' and tonumber(stored) or now
            if stored ~= stored then stored = now end
            b.full = math.max(now, math.min(stored, now + b.empty))
            b.mend = stored > b.full
            local tokens = math.floor((now + b.empty - b.full) / b.interval)
            b.requests = math.min(requests, math.floor((tokens + b.prepaid) / b.cost))
            if not b.shadow and b.requests < admitted then admitted = b.requests end
            buckets[i] = b
        end
        local reply = { admitted }
        for i, b in ipairs(buckets) do
            local paid = math.min(admitted, b.requests) * b.cost
            local taken = math.max(0, paid - b.prepaid)
            local advance = 0
            if b.wanted > 0 and admitted == requests and b.requests == requests then
                -- The rule of TokenLease: before tokens are leased, the bucket loses what arrives in their life.
                local full = math.max(b.full, now + b.life)
                local left = math.floor((now + b.empty - full) / b.interval) - taken
                advance = math.max(0, math.min(b.wanted, math.floor(left / 2)))
                if advance > 0 then b.full = full end
            end
            b.full = b.full + (taken + advance) * b.interval
            if taken + advance > 0 or b.mend then
                local life = string.format('%.0f', math.ceil((b.full - now) / 1000))
                redis.call('SET', KEYS[i], string.format('%.0f', b.full), 'PX', life)
            end
            local free = now + b.empty - b.full
            local short = b.cost - math.max(0, b.prepaid - paid)
            reply[#reply + 1] = b.requests
            reply[#reply + 1] = advance
            reply[#reply + 1] = b.full - now
            reply[#reply + 1] = math.max(0, short * b.interval - free)
        end
        return reply
        """)
}

extension TokenGrant {
    fileprivate init?(_ reply: RedisValue, for order: TokenRequest) {
        guard case .array(let values) = reply, values.count == 1 + 4 * order.lines.count else { return nil }
        var numbers: [Int] = []
        for value in values {
            guard case .integer(let number) = value, let number = Int(exactly: number), number >= 0 else { return nil }
            numbers.append(number)
        }
        let lines = order.lines.indices.map { Self.line(numbers[(1 + 4 * $0)...]) }
        let isHonest = zip(lines, order.lines).allSatisfy { $0.inAdvance <= $1.inAdvance }
        guard numbers[0] <= order.requests, isHonest else { return nil }
        self.init(admitted: numbers[0], lines: lines)
    }

    private static func line(_ numbers: ArraySlice<Int>) -> Line {
        let first = numbers.startIndex
        return Line(
            requests: numbers[first], inAdvance: numbers[first + 1],
            timeUntilFull: .microseconds(numbers[first + 2]), timeUntilNext: .microseconds(numbers[first + 3]))
    }
}

extension RatePolicy {
    /// The time one token takes to arrive, rounded up: the store counts whole microseconds, and never too fast.
    fileprivate var emissionMicroseconds: Int {
        let (whole, rest) = window.wholeMicroseconds.quotientAndRemainder(dividingBy: quota)
        return max(1, rest > 0 ? whole + 1 : whole)
    }
}

extension Duration {
    fileprivate var wholeMicroseconds: Int {
        let (seconds, attoseconds) = components
        return Int(seconds) * 1_000_000 + Int((attoseconds + 999_999_999_999) / 1_000_000_000_000)
    }
}
