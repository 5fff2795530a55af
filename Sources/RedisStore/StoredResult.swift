// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts

/// What the shared store keeps of a finding, before it is sealed:
///
/// ```
/// 1 byte   version, 4
/// 1 byte   kind: 1 answered, 2 account not found, 3 Apple disagrees
/// 24 bytes the history of purges that were known before Apple was asked, and the number and name of the last of them
/// 8 bytes  when Apple was asked, in milliseconds since 1970, by the writer's clock
/// 8 bytes  for how long after that it is fresh, in milliseconds
/// 8 bytes  how long asking took, in milliseconds
/// 8 bytes  how long the store was told to keep it, in milliseconds
/// 8 bytes  Apple's status code; -1 for none
/// rest     of kind 1: what was read out of Apple's answer (`StoredFields`), then Apple's JSON as it came
/// ```
/// All numbers are big-endian. The JSON was read when Apple sent it, and is never read again: it is only passed on to
/// who asks for Apple's own words.
struct StoredResult: Sendable {
    /// The finding, with its times by the clock of the node that wrote it.
    let known: CachedResult
    /// How long the store was told to keep it.
    let retention: Duration
}

/// What the store keeps at most.
enum StoredResultLimits {
    /// The largest value: a thousand transactions. Larger ones would hold up whoever shares the connection.
    static let bytes = 1 << 20
    /// How far a writer's clock may be from the reader's. Beyond it a value is taken for a very old one that somebody put
    /// back.
    static let clockDifference: Duration = .seconds(7200)
    /// As long as anybody waits for Apple.
    static let took: Duration = .seconds(60)
}

// MARK: - Writing

extension StoredResult {
    /// The bytes to be sealed; nil if other nodes have no use for the finding.
    var bytes: [UInt8]? {
        guard let kind = Kind(known.result) else { return nil }
        var fields = StoredFieldWriter()
        fields.write(Self.version)
        fields.write(kind.rawValue)
        fields.write(Int64(bitPattern: known.purges.history))
        fields.write(Int64(bitPattern: known.purges.number))
        fields.write(Int64(bitPattern: known.purges.name))
        fields.write(known.askedAt.millisecondsSince1970)
        fields.write(known.askedAt.duration(to: known.freshUntil).wholeMilliseconds)
        fields.write(min(known.took, StoredResultLimits.took).wholeMilliseconds)
        fields.write(retention.wholeMilliseconds)
        fields.write(Int64(known.status ?? Self.noStatus))
        if case .answered(let answer) = known.result { fields.write(answer) }
        return fields.bytes
    }

    private enum Kind: UInt8 {
        case answered = 1, accountNotFound, disagreement

        init?(_ result: UpstreamResult) {
            switch result {
            case .answered: self = .answered
            case .accountNotFound: self = .accountNotFound
            case .unanswered(.upstreamDisagrees): self = .disagreement
            case .unanswered: return nil
            }
        }
    }

    private static let version: UInt8 = 4
    private static let noStatus = -1
}

// MARK: - Reading

extension StoredResult {
    /// Reads what was sealed.
    /// - Parameter policy: bounds what is believed about times.
    init(_ bytes: [UInt8], policy: FreshnessPolicy) throws(SharedCacheFault) {
        guard bytes.count <= StoredResultLimits.bytes else { throw .unreadable }
        var fields = StoredFieldReader(bytes)
        guard try fields.byte() == Self.version, let kind = Kind(rawValue: try fields.byte()) else {
            throw .unreadable
        }
        let purges = PurgePosition(
            history: UInt64(bitPattern: try fields.number()), number: UInt64(bitPattern: try fields.number()),
            name: UInt64(bitPattern: try fields.number()))
        let askedAt = Timestamp(millisecondsSince1970: try fields.number())
        let freshness = Duration.milliseconds(try fields.number())
        let took = Duration.milliseconds(try fields.number())
        retention = .milliseconds(try fields.number())
        let status = Int(try fields.number())
        guard freshness > .zero, freshness <= policy.longestFreshness, retention >= freshness,
            retention <= policy.longestRetention, took >= .zero, took <= StoredResultLimits.took
        else { throw .implausibleTimes }
        known = CachedResult(
            try Self.result(kind, &fields), status: status == Self.noStatus ? nil : status, askedAt: askedAt,
            freshUntil: askedAt.advanced(by: freshness), took: took, purges: purges)
    }

    private static func result(_ kind: Kind, _ fields: inout StoredFieldReader) throws(SharedCacheFault)
        -> UpstreamResult
    {
        if kind == .answered { return .answered(try fields.answer()) }
        guard fields.isAtEnd else { throw .unreadable }
        return kind == .accountNotFound ? .accountNotFound : .unanswered(.upstreamDisagrees)
    }
}
