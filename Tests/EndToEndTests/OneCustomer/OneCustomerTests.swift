// SPDX-License-Identifier: Apache-2.0

import Testing
import TestSupport

/// One customer, and every protocol of the gateway at once: all must answer with one state, in their own words.
@Suite(.serialized, .timeLimit(.patient)) struct OneCustomerTests {
    @Test func `all protocols answer with one state through purchase, renewal, grace period and refund`() async throws {
        try await CustomerStage.run { stage in
            for (number, phase) in CustomerPhase.all.enumerated() {
                try stage.begin(phase)
                // Once a notification is applied, no answer shows the earlier state.
                let event = try await stage.event(String(phase.event.prefix { $0 != "," }))
                #expect(event == phase.event, "\(phase.name)")
                // The second answers come from caches, and from what the first ones stored.
                for round in 1...2 {
                    let nonce = "nonce-of-phase-\(number)-round-\(round)"
                    for (place, said, expected) in try await Self.answers(stage, phase, nonce: nonce) {
                        #expect(said == expected, "\(phase.name), round \(round): \(place)")
                    }
                }
            }
        }
    }

    /// Returns what every protocol says in a phase, and what it must say.
    private static func answers(
        _ stage: CustomerStage, _ phase: CustomerPhase, nonce: String
    ) async throws -> [(place: String, said: String, expected: String)] {
        var answers: [(String, String, String)] = []
        for evidence in CustomerStage.Evidence.allCases {
            answers.append(("/v1/verify, \(evidence)", try await stage.verdict(by: evidence), phase.verdict))
        }
        return answers + [
            ("a signed answer", try await stage.signedVerdict(nonce: nonce), phase.verdict),
            ("/verifyReceipt", try await stage.appleForm(), phase.appleForm),
            ("/api", try await stage.formAPI(), phase.appleForm),
            ("/v1/validate, receipt", try await stage.validated(signed: false), phase.validated),
            ("/v1/validate, transaction", try await stage.validated(signed: true), phase.validated),
            ("/v1/purchase/verify", try await stage.verifiedPurchase(), phase.purchase),
        ]
    }
}
