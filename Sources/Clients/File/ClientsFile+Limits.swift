// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Resilience
internal import Yams

extension ClientsFile {
    /// The bounds of limits. `RatePolicy.Limits` has the rest.
    package enum LimitBounds {
        /// Policies of one client. Each is a bucket that every request takes tokens from.
        static let policies = 8
        /// The length of a policy's name. No character needs escaping in a header field.
        static let nameLength = 1...32
        /// Tokens that one request takes.
        static let cost = 1...10_000
        /// Header fields give windows in seconds.
        static let window: ClosedRange<Duration> = .seconds(1)...RatePolicy.Limits.window.upperBound
        /// Requests of one client in flight.
        static let concurrency = 1...1_000_000
        /// Signed items that one token pays for.
        static let itemsPerToken = 1...200
        /// Transaction IDs that Apple does not know, of one client in a minute.
        static let unknownIDs = 1...1_000_000
        /// The limit name in responses for too many requests in flight; no policy may have it.
        package static let concurrencyName = "concurrency"
        /// The limit name in responses for too many unknown transaction IDs; no policy may have it.
        package static let unknownIDsName = "unknown_ids"
    }

    static let limitFields = ["limits", "concurrency", "items_per_token"]
    /// The limits of clients with API keys, and the defaults: form accounts send no transaction IDs.
    static let keyLimitFields = limitFields + ["unknown_ids_per_minute"]

    /// Reads the limits of a client, or the defaults.
    mutating func readLimits(_ fields: [String: Node], unlessSet defaults: ClientLimits) -> ClientLimits {
        var limits = defaults
        if let list = fields["limits"] { limits.policies = readPolicies(list) }
        limits.concurrency = value("concurrency", of: fields, in: LimitBounds.concurrency) ?? limits.concurrency
        limits.itemsPerToken =
            value("items_per_token", of: fields, in: LimitBounds.itemsPerToken) ?? limits.itemsPerToken
        limits.unknownIDsPerMinute =
            value("unknown_ids_per_minute", of: fields, in: LimitBounds.unknownIDs) ?? limits.unknownIDsPerMinute
        return limits
    }

    private mutating func readPolicies(_ list: Node) -> [ClientPolicy] {
        let nodes = elements(of: list, named: "limits")
        if nodes.count > LimitBounds.policies {
            report("a client has \(LimitBounds.policies) limits at most", at: list)
        }
        var names: Set<String> = []
        return nodes.prefix(LimitBounds.policies).compactMap { node in
            guard let policy = readPolicy(node) else { return nil }
            if !names.insert(policy.rate.name).inserted {
                report("the limit \(policy.rate.name) appears twice", at: node)
            }
            return policy
        }
    }

    private mutating func readPolicy(_ node: Node) -> ClientPolicy? {
        let names = ["name", "quota", "window", "burst", "per", "cost", "when_store_fails", "shadow", "lease"]
        guard let fields = fields(of: node, named: names) else { return nil }
        let name = readName(fields["name"], of: node, length: LimitBounds.nameLength)
        if let name, [LimitBounds.concurrencyName, LimitBounds.unknownIDsName].contains(name) {
            report("a limit must not be named \(name)", at: fields["name"])
        }
        for name in ["quota", "window"] where fields[name] == nil { report("\(name) is missing", at: node) }
        let quota = value("quota", of: fields, in: RatePolicy.Limits.tokens)
        let window = value("window", of: fields, in: LimitBounds.window)
        if let window, window.components.attoseconds != 0 {
            report("window must be whole seconds", at: fields["window"])
        }
        let burst = value("burst", of: fields, in: RatePolicy.Limits.tokens)
        let subject: ClientPolicy.Subject? = value("per", of: fields)
        let rule: StoreFailureRule? = value("when_store_fails", of: fields)
        let isShadow: Bool? = value("shadow", of: fields)
        let lease: LeaseRule? = value("lease", of: fields)
        let costs = readCosts(fields)
        guard let name, let quota, let window else { return nil }
        let rate = RatePolicy(
            name: name, quota: quota, window: window, burst: burst, whenStoreFails: rule ?? .local,
            isShadow: isShadow ?? false, isLeased: lease != .never)
        if let dearest = costs.values.max(), dearest > rate.burst {
            report(
                "cost is more than the burst of \(rate.burst): such a request would always be rejected",
                at: fields["cost"])
        }
        return ClientPolicy(subject: subject ?? .client, rate: rate, costs: costs)
    }

    /// Reads costs: one number for all modes, or a number for each mode.
    private mutating func readCosts(_ policy: [String: Node]) -> [Mode: Int] {
        guard let node = policy["cost"] else { return [:] }
        guard node.mapping != nil else {
            let cost = value("cost", of: policy, in: LimitBounds.cost) ?? 1
            return Dictionary(uniqueKeysWithValues: Mode.allCases.map { ($0, cost) })
        }
        var costs: [Mode: Int] = [:]
        guard let fields = fields(of: node, named: Mode.allCases.map(\.rawValue)) else { return [:] }
        for mode in Mode.allCases { costs[mode] = value(mode.rawValue, of: fields, in: LimitBounds.cost) }
        return costs
    }

    // MARK: - Values

    /// Reads a value in the configuration's format; nil and a problem if it is not accepted.
    mutating func value<Value: ConfigurationValue>(
        _ name: String, of fields: [String: Node], accepted: String = Value.accepted,
        where accepts: (Value) -> Bool = { _ in true }
    ) -> Value? {
        guard let node = fields[name] else { return nil }
        if let text = node.scalar?.string, let value = try? Value(configuration: text), accepts(value) { return value }
        return rejected("\(name) takes \(accepted)", at: node)
    }

    fileprivate mutating func value<Value: ConfigurationValue & Comparable>(
        _ name: String, of fields: [String: Node], in range: ClosedRange<Value>
    ) -> Value? {
        let bounds = "from \(range.lowerBound.configurationText) to \(range.upperBound.configurationText)"
        return value(name, of: fields, accepted: "\(Value.accepted), \(bounds)") { range.contains($0) }
    }
}

/// The rule for taking tokens of a policy in advance.
private enum LeaseRule: String, CaseIterable, ConfigurationValue {
    case auto, never
}

extension StoreFailureRule: ConfigurationValue {}
extension ClientPolicy.Subject: ConfigurationValue {}
