// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

/// Tests that certificates are judged at the creation date, with a grace at their end, and that date by the clock.
struct TimePolicyTests {
    private static let day: Int64 = 86_400

    /// Seconds from the end of the certificate to the creation of the receipt, the grace, and the broken rule.
    private static let edges: [(Int64, Duration?, Rule?)] = [
        (-1, nil, nil), (0, nil, nil), (1, nil, nil), (day, nil, nil), (day + 1, nil, .certificateExpired),
        (0, .zero, nil), (1, .zero, .certificateExpired), (60, .seconds(60), nil),
        (61, .seconds(60), .certificateExpired),
    ]

    @Test(arguments: edges) func `a leaf may be used to the last second of its grace`(
        seconds: Int64, grace: Duration?, broken: Rule?
    ) throws {
        try Self.expect(broken, seconds, grace) { $0.end(.leaf, at: $1) }
    }

    @Test(arguments: edges) func `an intermediate may be used to the last second of its grace`(
        seconds: Int64, grace: Duration?, broken: Rule?
    ) throws {
        try Self.expect(broken, seconds, grace) { $0.end(.intermediate, at: $1) }
    }

    @Test(arguments: [(0, nil), (1, .certificateNotYetValid)] as [(Int64, Rule?)])
    func `no grace comes before a certificate's beginning`(secondsEarly: Int64, broken: Rule?) throws {
        let created = Samples.contents.creationDate
        let begin = created.advanced(bySeconds: secondsEarly)
        var policy = VerificationPolicy()
        policy.expiryGrace = .seconds(10 * Self.day)
        let verifier = try ReceiptVerifier.trustingSamples(policy: policy)
        for link in ForgedLink.allCases {
            let receipt = Samples.forge.receipt(beginning: link, at: begin)
            #expect(verifier.brokenRule(of: receipt) == broken, "\(link)")
        }
    }

    @Test func `the root's end counts as well`() throws {
        // The sample root is valid from 2014 to 2044; the leaf's end is moved beyond it.
        let verifier = try ReceiptVerifier.trustingSamples()
        let after = Timestamp(UTCDate(2050, 1, 1))
        for (date, broken) in [(UTCDate(2044, 1, 2), nil), (UTCDate(2044, 1, 2, 0, 0, 1), Rule.certificateExpired)] {
            let receipt = Samples.forge.receipt(created: date, leafAndIntermediateEnd: UTCDate(2060, 1, 1))
            #expect(verifier.brokenRule(of: receipt, at: after) == broken)
        }
    }

    @Test(
        arguments: [
            (0, nil, nil), (-300_000, nil, nil), (-300_001, nil, .creationDateInFuture), (1, nil, nil),
            (0, .zero, nil), (-1, .zero, .creationDateInFuture), (-60_000, .seconds(60), nil),
            (-60_001, .seconds(60), .creationDateInFuture), (1_000_000_000_000, nil, nil),
        ] as [(Int64, Duration?, Rule?)])
    func `a receipt may come from the future as far as clocks disagree`(
        millisecondsSinceCreation: Int64, skew: Duration?, broken: Rule?
    ) throws {
        var policy = VerificationPolicy()
        if let skew { policy.clockSkew = skew }
        let verifier = try ReceiptVerifier.trustingSamples(policy: policy)
        let now = Samples.created.advanced(by: .milliseconds(millisecondsSinceCreation))
        #expect(verifier.brokenRule(of: Samples.receipt, at: now) == broken)
    }

    private static func expect(
        _ broken: Rule?, _ seconds: Int64, _ grace: Duration?, _ receipt: (FaultForge, UTCDate) -> [UInt8]
    ) throws {
        var policy = VerificationPolicy()
        if let grace { policy.expiryGrace = grace }
        let end = Samples.contents.creationDate.advanced(bySeconds: -seconds)
        let verifier = try ReceiptVerifier.trustingSamples(policy: policy)
        #expect(verifier.brokenRule(of: receipt(Samples.forge, end)) == broken)
    }
}
