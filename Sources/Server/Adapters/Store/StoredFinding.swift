// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Gateway
internal import Receipts

/// What the shared store keeps of a finding, before it is sealed:
///
/// ```
/// 1 byte   version, 1
/// 1 byte   kind: 1 answered, 2 account not found, 3 Apple disagrees
/// 1 byte   the endpoint that answered: 0 production, 1 sandbox
/// 8 bytes  when Apple was asked, in milliseconds since 1970, by the writer's clock
/// 8 bytes  for how long after that it is fresh, in milliseconds
/// 8 bytes  how long asking took, in milliseconds
/// 8 bytes  how long the store was told to keep it, in milliseconds
/// rest     Apple's JSON as it came, of kind 1
/// ```
/// All numbers are big-endian. What is read back is read by the code that reads Apple's answers: nothing here is
/// believed because it was sealed.
struct StoredFinding: Sendable {
    /// The finding, with its times by the clock of the node that wrote it.
    let known: KnownFinding
    /// How long the store was told to keep it.
    let retention: Duration
}

/// What the store keeps at most.
enum StoredFindingLimits {
    /// The largest value: a thousand transactions. Larger ones would hold up whoever shares the connection.
    static let bytes = 1 << 20
    /// How far a writer's clock may be from the reader's. Beyond it a value is taken for a very old one that somebody put
    /// back.
    static let clockDifference: Duration = .seconds(7200)
    /// As long as anybody waits for Apple.
    static let took: Duration = .seconds(60)
}

// MARK: - Writing

extension StoredFinding {
    /// The bytes to be sealed; nil if other nodes have no use for the finding.
    var bytes: [UInt8]? {
        guard let (kind, environment, body) = Self.contents(of: known.finding) else { return nil }
        var bytes = [Self.version, kind.rawValue, environment]
        bytes.append(bigEndian: known.askedAt.millisecondsSince1970)
        bytes.append(bigEndian: known.askedAt.duration(to: known.freshUntil).wholeMilliseconds)
        bytes.append(bigEndian: min(known.took, StoredFindingLimits.took).wholeMilliseconds)
        bytes.append(bigEndian: retention.wholeMilliseconds)
        return bytes + body
    }

    private static func contents(of finding: Finding) -> (Kind, UInt8, [UInt8])? {
        switch finding {
        case .answered(let answer): (.answered, answer.environment == .sandbox ? 1 : 0, answer.body)
        case .accountNotFound: (.accountNotFound, 0, [])
        case .unanswered(.upstreamDisagrees): (.disagreement, 0, [])
        case .unanswered: nil
        }
    }

    private enum Kind: UInt8 {
        case answered = 1, accountNotFound, disagreement
    }

    private static let version: UInt8 = 1
    private static let headerLength = 3 + 4 * 8
}

// MARK: - Reading

extension StoredFinding {
    /// Reads what was sealed.
    /// - Parameter policy: bounds what is believed about times.
    init(_ bytes: [UInt8], policy: FreshnessPolicy) throws(SharedCacheFault) {
        guard bytes.count >= Self.headerLength, bytes.count <= StoredFindingLimits.bytes, bytes[0] == Self.version,
            let kind = Kind(rawValue: bytes[1])
        else { throw .unreadable }
        let askedAt = Timestamp(millisecondsSince1970: bytes.bigEndian(at: 3))
        let freshness = Duration.milliseconds(bytes.bigEndian(at: 11))
        let took = Duration.milliseconds(bytes.bigEndian(at: 19))
        retention = .milliseconds(bytes.bigEndian(at: 27))
        guard freshness > .zero, freshness <= policy.longestFreshness, retention >= freshness,
            retention <= policy.longestRetention, took >= .zero, took <= StoredFindingLimits.took
        else { throw .implausibleTimes }
        let body = Array(bytes[Self.headerLength...])
        known = KnownFinding(
            try Self.finding(kind, from: bytes[2], body), askedAt: askedAt, freshUntil: askedAt.advanced(by: freshness),
            took: took)
    }

    private static func finding(
        _ kind: Kind, from environment: UInt8, _ body: [UInt8]
    ) throws(SharedCacheFault) -> Finding {
        guard kind == .answered || body.isEmpty, environment <= 1 else { throw .unreadable }
        switch kind {
        case .answered: return try answer(body, from: environment == 1 ? .sandbox : .production)
        case .accountNotFound: return .accountNotFound
        case .disagreement: return .unanswered(.upstreamDisagrees)
        }
    }

    /// By the rules for what comes from Apple.
    private static func answer(
        _ body: [UInt8], from environment: UpstreamEnvironment
    ) throws(SharedCacheFault) -> Finding {
        guard let response = try? VerifyReceiptResponse(parsing: body),
            case .answer(let answer) = UpstreamReply(response, from: environment),
            answer.environment == environment.environment
        else { throw .unreadable }
        return .answered(answer)
    }
}

extension [UInt8] {
    fileprivate mutating func append(bigEndian number: Int64) {
        for shift in stride(from: 56, through: 0, by: -8) { append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    fileprivate func bigEndian(at offset: Int) -> Int64 {
        self[offset..<offset + 8].reduce(0) { $0 << 8 | Int64($1) }
    }
}
