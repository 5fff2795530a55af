// SPDX-License-Identifier: Apache-2.0

internal import JSON

/// The masters of a cluster's slots.
struct SlotMap: Hashable, Sendable {
    /// The masters that have a slot, or had one since the map was read; `owners` holds indices into it.
    private(set) var masters: [RedisAddress]
    /// The index of each slot's master, or `unavailable`.
    private var owners: [UInt8]

    private static let unavailable = UInt8.max

    enum Limits {
        /// A cluster has a few; each costs one connection per event loop.
        static let maximumMasters = 128
        /// A range ends where the master changes: far more than in a regular cluster.
        static let maximumRanges = 4096
    }

    enum Fault: Error, Hashable {
        /// Not an array of ranges, or more of them than `Limits.maximumRanges`.
        case notRanges
        case invalidRange
        case overlap
        case invalidNode
        case tooManyMasters
    }

    init() { (masters, owners) = ([], Array(repeating: Self.unavailable, count: HashSlot.count)) }

    /// Parses the reply to `CLUSTER SLOTS`.
    /// - Parameter replier: the node that replied; a node that does not know its own address leaves its host out.
    init(_ reply: RedisValue, from replier: RedisAddress) throws(Fault) {
        self.init()
        guard case .array(let ranges) = reply, ranges.count <= Limits.maximumRanges else { throw .notRanges }
        for range in ranges {
            guard case .array(let parts) = range, parts.count >= 3 else { throw .notRanges }
            let slots = try Self.slots(from: parts[0], to: parts[1])
            // No command can be sent to a node without an address: its slots count as unavailable.
            guard let master = try Self.address(of: parts[2], replier: replier) else { continue }
            try assign(slots, to: master)
        }
    }

    func master(of slot: HashSlot) -> RedisAddress? {
        let owner = owners[slot.number]
        return owner == Self.unavailable ? nil : masters[Int(owner)]
    }

    var isComplete: Bool { !owners.contains(Self.unavailable) }

    /// Records the new master of a slot, unless there are too many masters.
    mutating func move(_ slot: HashSlot, to master: RedisAddress) {
        guard let index = index(of: master) else { return }
        owners[slot.number] = index
    }

    private mutating func assign(_ slots: ClosedRange<Int>, to master: RedisAddress) throws(Fault) {
        guard let index = index(of: master) else { throw .tooManyMasters }
        for slot in slots {
            guard owners[slot] == Self.unavailable else { throw .overlap }
            owners[slot] = index
        }
    }

    private mutating func index(of master: RedisAddress) -> UInt8? {
        if let index = masters.firstIndex(of: master) { return UInt8(index) }
        guard masters.count < Limits.maximumMasters else { return nil }
        masters.append(master)
        return UInt8(masters.count - 1)
    }

    private static func slots(from first: RedisValue, to last: RedisValue) throws(Fault) -> ClosedRange<Int> {
        guard case .integer(let first) = first, case .integer(let last) = last,
            let first = HashSlot(first)?.number, let last = HashSlot(last)?.number, first <= last
        else { throw .invalidRange }
        return first...last
    }

    /// Parses `[host, port, id, metadata]`. The host is null or empty for the node that replied, and `?` if it is set
    /// to announce a host name that it does not know.
    private static func address(of node: RedisValue, replier: RedisAddress) throws(Fault) -> RedisAddress? {
        guard case .array(let parts) = node, parts.count >= 2, case .integer(let port) = parts[1] else {
            throw .invalidNode
        }
        let host: String? =
            switch parts[0] {
            case .string(let bytes): String(outside: bytes)
            case .null: ""
            default: nil
            }
        guard let host else { throw .invalidNode }
        if host == "?" { return nil }
        guard let address = replier.sibling(host: host, port: Int(exactly: port)) else { throw .invalidNode }
        return address
    }
}

extension RedisAddress {
    /// Parses another node's address as this node gives it: without a host, both nodes have the same host.
    func sibling(host: some StringProtocol, port: Int?) -> RedisAddress? {
        guard host.isEmpty else { return .checked(host: host, port: port) }
        guard case .host(let own, _) = self else { return nil }
        return .checked(host: own, port: port)
    }
}

/// One of the 16384 parts of a cluster's keys.
struct HashSlot: Hashable, Sendable {
    static let count = 16384

    /// 0 to 16383.
    let number: Int

    init?(_ number: some BinaryInteger) {
        guard (0..<Self.count).contains(Int(clamping: number)) else { return nil }
        self.number = Int(number)
    }

    /// The slot of a key: CRC16 of its hash tag, or of the whole key if it has no hash tag.
    init(of key: RedisWord) {
        number = Int(Self.crc16(Self.hashTag(of: key.bytes[...]))) % Self.count
    }

    /// The text between the first `{` and the next `}`, unless empty (Redis cluster specification, "Hash tags").
    private static func hashTag(of key: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let open = key.firstIndex(of: UInt8(ascii: "{")) else { return key }
        let tail = key[(open + 1)...]
        guard let close = tail.firstIndex(of: UInt8(ascii: "}")), close > tail.startIndex else { return key }
        return tail[..<close]
    }

    /// CRC16-CCITT, XMODEM: polynomial 0x1021, initial value 0, nothing reflected (the specification's Appendix A).
    static func crc16(_ bytes: ArraySlice<UInt8>) -> UInt16 {
        bytes.reduce(0) { crc, byte in crc << 8 ^ table[Int(UInt8(crc >> 8) ^ byte)] }
    }

    private static let table: [UInt16] = (0..<256).map { index in
        (0..<8).reduce(UInt16(index) << 8) { crc, _ in crc & 0x8000 == 0 ? crc << 1 : crc << 1 ^ 0x1021 }
    }
}
