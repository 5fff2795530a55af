// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts
internal import Resilience

/// The stored form of a cached result, before encryption:
///
/// ```
/// 1 byte   version, 8
/// 1 byte   kind: 1 answered, 2 account not found, 3 Apple disagrees, 4 unknown transaction, 5 alias
/// 24 bytes the purge history known before the request to Apple, and the number and name of its last purge
/// 8 bytes  time of Apple's reply, in milliseconds since 1970, by the writer's clock
/// 8 bytes  freshness after that, in milliseconds
/// 8 bytes  duration of the request, in milliseconds
/// 8 bytes  time to live in Redis, in milliseconds
/// 8 bytes  Apple's status code; -1 for none
/// rest     of kind 1: the fields of Apple's answer (`visitStoredFields`), then Apple's JSON unchanged
///          of kind 4: 1 byte reason: 1 not found, 2 ID invalid
///          of kind 5: 1 byte environment: 0 production, 1 sandbox; the original transaction ID; the bundle ID
/// ```
/// All numbers are big-endian. The JSON is never parsed again, only passed on to clients that need Apple's original
/// answer.
struct StoredResult: Sendable {
    /// The result, with times by the writer's clock.
    let known: CachedResult
    let retention: Duration
}

enum StoredResultLimits {
    /// The maximum size: a thousand transactions. Larger values would delay other commands on the connection.
    static let bytes = 1 << 20
    /// The maximum difference of the writer's and the reader's clocks. Beyond this difference, the value counts as an
    /// old value that was restored.
    static let clockDifference: Duration = .seconds(7200)
    static let took: Duration = .seconds(60)
}

extension StoredResult {
    /// The bytes to encrypt; nil if the result is useless to other nodes.
    var bytes: [UInt8]? {
        guard let kind = Kind(known.result) else { return nil }
        var fields = StoredFieldWriter()
        fields.write(Self.version)
        fields.write(kind.rawValue)
        fields.write(Int64(bitPattern: known.purges.history))
        fields.write(Int64(bitPattern: known.purges.number))
        fields.write(Int64(bitPattern: known.purges.name))
        fields.write(known.fetchedAt.millisecondsSince1970)
        fields.write(known.fetchedAt.duration(to: known.freshUntil).wholeMilliseconds)
        fields.write(min(known.took, StoredResultLimits.took).wholeMilliseconds)
        fields.write(retention.wholeMilliseconds)
        fields.write(Int64(known.status ?? Self.noStatus))
        switch known.result {
        case .answered(let answer): fields.write(answer)
        case .unknownTransaction(let reason): fields.write(reason.storedCode)
        case .alias(let alias): fields.write(alias)
        case .unanswered(let reason): fields.write(Optional(reason.rawValue))
        case .accountNotFound: break
        }
        return fields.bytes
    }

    private enum Kind: UInt8 {
        case answered = 1, accountNotFound, failure, unknownTransaction, alias

        init?(_ result: UpstreamResult) {
            switch result {
            case .answered: self = .answered
            case .accountNotFound: self = .accountNotFound
            case .unanswered(let reason) where reason.facts.isOfEvidence: self = .failure
            case .unknownTransaction: self = .unknownTransaction
            case .alias(let alias) where alias.isStorable: self = .alias
            case .alias, .unanswered: return nil
            }
        }
    }

    private static let version: UInt8 = 11
    private static let noStatus = -1

    /// Parses decrypted bytes.
    /// - Parameter policy: bounds the accepted times, for each kind of result.
    init(_ bytes: [UInt8], policy: FreshnessPolicy) throws(SharedCacheFault) {
        guard bytes.count <= StoredResultLimits.bytes else { throw .unreadable }
        var fields = StoredFieldReader(bytes)
        guard try fields.byte() == Self.version, let kind = Kind(rawValue: try fields.byte()) else {
            throw .unreadable
        }
        let purges = PurgePosition(
            history: UInt64(bitPattern: try fields.number()), number: UInt64(bitPattern: try fields.number()),
            name: UInt64(bitPattern: try fields.number()))
        let fetchedAt = Timestamp(millisecondsSince1970: try fields.number())
        let freshness = Duration.milliseconds(try fields.number())
        let took = Duration.milliseconds(try fields.number())
        retention = .milliseconds(try fields.number())
        let status = Int(try fields.number())
        let result = try Self.result(kind, &fields)
        guard freshness > .zero, freshness <= policy.longestFreshness(of: result), retention >= freshness,
            retention <= policy.longestRetention(of: result), took >= .zero, took <= StoredResultLimits.took
        else { throw .implausibleTimes }
        known = CachedResult(
            result, status: status == Self.noStatus ? nil : status, fetchedAt: fetchedAt,
            freshUntil: fetchedAt.advanced(by: freshness), took: took, purges: purges)
    }

    private static func result(_ kind: Kind, _ fields: inout StoredFieldReader) throws(SharedCacheFault)
        -> UpstreamResult
    {
        let result: UpstreamResult =
            switch kind {
            case .answered: .answered(try fields.answer())
            case .accountNotFound: .accountNotFound
            case .failure: .unanswered(try fields.failure())
            case .unknownTransaction: .unknownTransaction(try fields.unknownTransaction())
            case .alias: .alias(try fields.alias())
            }
        guard fields.isAtEnd else { throw .unreadable }
        return result
    }
}
