// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Which master serves which slot of a cluster.
struct SlotMap: Hashable, Sendable {
    /// The masters that serve a slot, or have served one since the map was read; the index is what `owners` holds.
    private(set) var masters: [RedisAddress]
    /// Of each slot the index of its master, or `unserved`.
    private var owners: [UInt8]

    private static let unserved = UInt8.max

    /// What a map may hold.
    enum Limits {
        /// A cluster has a few; each costs a connection per event loop.
        static let maximumMasters = 128
        /// A range ends where the master changes: many more than a well kept cluster has.
        static let maximumRanges = 4096
    }

    /// Why a reply is no map.
    enum Fault: Error, Hashable {
        /// Not an array of ranges, or more than `Limits.maximumRanges`.
        case notRanges
        /// A range that ends before it begins, or beyond the last slot.
        case invalidRange
        /// Two ranges hold the same slot.
        case overlap
        /// A node whose host or port can be none.
        case invalidNode
        /// More than `Limits.maximumMasters`.
        case tooManyMasters
    }

    /// No slot is served.
    init() { (masters, owners) = ([], Array(repeating: Self.unserved, count: HashSlot.count)) }

    /// Reads the reply to `CLUSTER SLOTS`.
    /// - Parameter asked: who replied; a node that does not know its own address leaves its host out.
    init(_ reply: RedisValue, from asked: RedisAddress) throws(Fault) {
        self.init()
        guard case .array(let ranges) = reply, ranges.count <= Limits.maximumRanges else { throw .notRanges }
        for range in ranges {
            guard case .array(let parts) = range, parts.count >= 3 else { throw .notRanges }
            let slots = try Self.slots(from: parts[0], to: parts[1])
            // Nobody can be sent to a node without a known address: its slots are as good as unserved.
            guard let master = try Self.address(of: parts[2], asked: asked) else { continue }
            try assign(slots, to: master)
        }
    }

    /// Who serves a slot; nil if nobody does.
    func master(of slot: HashSlot) -> RedisAddress? {
        let owner = owners[slot.number]
        return owner == Self.unserved ? nil : masters[Int(owner)]
    }

    /// Whether every slot has a master.
    var isComplete: Bool { !owners.contains(Self.unserved) }

    /// Takes note that a slot has moved. One master too many is not taken note of.
    mutating func move(_ slot: HashSlot, to master: RedisAddress) {
        guard let index = index(of: master) else { return }
        owners[slot.number] = index
    }

    private mutating func assign(_ slots: ClosedRange<Int>, to master: RedisAddress) throws(Fault) {
        guard let index = index(of: master) else { throw .tooManyMasters }
        for slot in slots {
            guard owners[slot] == Self.unserved else { throw .overlap }
            owners[slot] = index
        }
    }

    private mutating func index(of master: RedisAddress) -> UInt8? {
        if let index = masters.firstIndex(of: master) { return UInt8(index) }
        guard masters.count < Limits.maximumMasters else { return nil }
        masters.append(master)
        return UInt8(masters.count - 1)
    }
}

// MARK: - Reading

extension SlotMap {
    private static func slots(from first: RedisValue, to last: RedisValue) throws(Fault) -> ClosedRange<Int> {
        guard case .integer(let first) = first, case .integer(let last) = last,
            let first = HashSlot(first)?.number, let last = HashSlot(last)?.number, first <= last
        else { throw .invalidRange }
        return first...last
    }

    /// `[host, port, id, metadata]`, where the host is null or empty for "the one you asked", and `?` for a name that
    /// the node was told to use and does not know.
    private static func address(of node: RedisValue, asked: RedisAddress) throws(Fault) -> RedisAddress? {
        guard case .array(let parts) = node, parts.count >= 2, case .integer(let port) = parts[1] else {
            throw .invalidNode
        }
        let host: String? =
            switch parts[0] {
            case .string(let bytes): String(validating: bytes, as: UTF8.self)
            case .null: ""
            default: nil
            }
        guard let host else { throw .invalidNode }
        if host == "?" { return nil }
        guard let address = asked.sibling(host: host, port: Int(exactly: port)) else { throw .invalidNode }
        return address
    }
}

extension RedisAddress {
    /// Another node as this one names it: the same host if it names none.
    func sibling(host: some StringProtocol, port: Int?) -> RedisAddress? {
        guard host.isEmpty else { return .checked(host: host, port: port) }
        guard case .host(let own, _) = self else { return nil }
        return .checked(host: own, port: port)
    }
}
