// SPDX-License-Identifier: Apache-2.0

package import Gateway
internal import JSON
package import Receipts
internal import Redis

/// The results of comparisons in Redis, counted by all nodes together: a hash for each pair of sources and day.
///
/// ```
/// gw:{c}:<pair>:<day> hash: `compared`, `equal` and `unanswered`, the numbers of answers; `kinds` the number of kinds;
///                     `k:<kind>` the number of differences of a kind; `x<n>:<kind>` an example, encrypted
/// ```
struct RedisComparisons: ComparisonStore {
    let redis: any RedisCommands
    private let seal: StoreSeal
    private let observe: @Sendable (SharedCacheFault) -> Void

    enum Limits {
        /// A day longer than a report needs: the clocks of nodes differ.
        static let retention: Duration = .seconds((ComparisonTally.Limits.days + 1) * 86_400)
        /// The fields of one hash that are read: four numbers, and a number and examples for each kind.
        static let fields = 4 + ComparisonTally.Limits.kinds * (1 + ComparisonTally.Limits.examples)
    }

    init(_ redis: any RedisCommands, keys: StoreKeys, observe: @escaping @Sendable (SharedCacheFault) -> Void) {
        (self.redis, self.observe) = (redis, observe)
        seal = StoreSeal(keys: keys)
    }

    func record(
        _ result: ComparisonResult, of pair: ComparisonPair, at now: Timestamp
    ) async throws(StoreUnreachable) {
        let key = Self.key(pair, ComparisonTally.day(of: now)), counted: [String], examples: [RedisWord]
        switch result {
        case .unanswered: (counted, examples) = (["unanswered"], [])
        case .compared(let differences):
            counted = differences.isEmpty ? ["compared", "equal"] : ["compared"]
            examples = differences.flatMap { kind, example in
                [RedisWord(kind.text), RedisWord(seal.seal(example.storedBytes, for: Self.sealedName(key, kind)))]
            }
        }
        try await redis.count(
            Self.counting, keys: [RedisWord(key)], Limits.retention, ComparisonTally.Limits.kinds,
            ComparisonTally.Limits.examples,
            counted.count, counted, examples)
    }

    func tallies(at now: Timestamp) async throws(StoreUnreachable) -> [ComparisonPair: ComparisonTally] {
        var tallies: [ComparisonPair: ComparisonTally] = [:]
        for pair in ComparisonPair.allCases {
            let keys = ComparisonTally.days(until: now).map { Self.key(pair, $0) }
            var sum = ComparisonTally()
            for (key, fields) in zip(keys, try await redis.hashes(keys.map { RedisWord($0) })) {
                sum.add(tally(fields, key))
            }
            if !sum.isEmpty { tallies[pair] = sum }
        }
        return tallies
    }

    /// Reads the fields of one day. What no gateway wrote is ignored.
    private func tally(_ fields: [(name: [UInt8], value: [UInt8])], _ key: String) -> ComparisonTally {
        var tally = ComparisonTally()
        for (name, value) in fields.prefix(Limits.fields) {
            guard let name = String(outside: name) else { continue }
            let parts = name.split(separator: ":", maxSplits: 1).map { String($0) }
            let kind = parts.count == 2 ? ComparisonKind(text: parts[1]) : nil
            switch (parts.first, kind) {
            case ("compared", nil): tally.compared = Self.number(value)
            case ("equal", nil): tally.equal = Self.number(value)
            case ("unanswered", nil): tally.unanswered = Self.number(value)
            case ("k", let kind?): tally.kinds[kind, default: .init()].count = Self.number(value)
            case (_, let kind?):
                if let example = example(value, kind, key) { tally.kinds[kind, default: .init()].examples += [example] }
            default: continue
            }
        }
        tally.kinds = tally.kinds.filter { 0 < $0.value.count }
        return tally
    }

    private static func number(_ digits: [UInt8]) -> Int { max(0, Int(clamping: Int64(stored: digits) ?? 0)) }

    private func example(_ sealed: [UInt8], _ kind: ComparisonKind, _ key: String) -> ComparisonExample? {
        do throws(SharedCacheFault) {
            return try ComparisonExample(storedBytes: seal.open(sealed, for: Self.sealedName(key, kind)))
        } catch {
            observe(error)
            return nil
        }
    }

    private static func key(_ pair: ComparisonPair, _ day: Int64) -> String { "gw:{c}:\(pair.rawValue):\(day)" }

    /// Returns the name that binds an encrypted example to its kind.
    private static func sealedName(_ key: String, _ kind: ComparisonKind) -> String { "\(key) \(kind.text)" }

    /// KEYS the hash; ARGV its lifetime in milliseconds, the limits for kinds and for examples of a kind, the number
    /// of counts and their names, then each kind with its example. Returns 1.
    static let counting = RedisScript(
        ScriptPrelude.numbers + """
            local key = KEYS[1]
            -- A key of another type is not the gateway's.
            if type(redis.pcall('HLEN', key)) ~= 'number' then redis.call('DEL', key) end
            local examples, first = tonumber(ARGV[3]), 5 + tonumber(ARGV[4])
            for i = 5, first - 1 do count(key, ARGV[i], 1) end
            for i = first, #ARGV, 2 do
                local field = 'k:' .. ARGV[i]
                local isNew = redis.call('HEXISTS', key, field) == 0
                local kinds = isNew and stored(redis.call('HGET', key, 'kinds')) or 0
                if kinds < tonumber(ARGV[2]) then
                    if isNew then count(key, 'kinds', 1) end
                    local number = count(key, field, 1)
                    redis.call('HSET', key, string.format('x%d:%s', number % examples, ARGV[i]), ARGV[i + 1])
                end
            end
            redis.call('PEXPIRE', key, ARGV[1])
            return 1
            """)
}

extension ComparisonExample: StoredForm {
    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        try form.version(1)
        try form.time(&hour)
        try form.word(&evidence)
        try form.text(&bundleID)
        try form.text(&productID)
        try form.word("environment", &environment)
        try form.count("age", &age)
        try form.count("seconds", &seconds)
    }

    fileprivate init(storedBytes: [UInt8]) throws(SharedCacheFault) {
        self.init(hour: .earliest, evidence: .appReceipt)
        do throws(StoredFormFault) { try read(storedBytes) } catch { throw .unreadable }
    }
}
