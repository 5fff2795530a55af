// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import ReceiptForge
import Testing
import TestSupport

/// Trusted roots that change while the real binary serves.
@Suite(.timeLimit(.patient)) struct TrustReloadTests {
    private static let signers = TransactionPKI(seed: 31)

    @Test func `evidence is accepted and rejected as its roots come and go, near-cached answers included`() async throws
    {
        let folder = try ScratchFolder()
        let receipts = try folder.write(Sample.pki.rootPEM, to: "receipts.pem")
        let transactions = try folder.write(Self.signers.root.pem, to: "transactions.pem")
        func configuration(trusting isTrusting: Bool) -> String {
            let roots = "[\(receipts)=Production+Sandbox, \(transactions)=Sandbox]"
            return "gateway: {cache: {near: {size: 4MiB}}\(isTrusting ? ", trust_roots: \(roots)" : "")}\n"
        }
        let gateway = try await RunningGateway(
            configuredBy: folder.write(configuration(trusting: false), to: "gateway.yaml"))
        let transaction = String(decoding: Self.signers.jws(TransactionContents()), as: UTF8.self)
        for (reloads, isTrusting) in [false, true, false, true].enumerated() {
            if reloads > 0 {
                try folder.replace("gateway.yaml", with: configuration(trusting: isTrusting))
                gateway.hangUp()
                try await gateway.expect(successes: Double(reloads))
            }
            for evidence in [Sample.receipt(0), transaction] {
                for cache in ["miss", "near"] {
                    let answer = try await Verdict(gateway.verify(evidence).json)
                    #expect(answer.cache == cache, "after \(reloads) reloads: \(answer)")
                    #expect(answer.verdict == (isTrusting ? "genuine" : "rejected"), "\(answer)")
                    #expect(answer.reason == (isTrusting ? nil : "anchor_untrusted"), "\(answer)")
                }
            }
            let end = try await Scrape(gateway)[#"certificate_expiry_timestamp_seconds{certificate="trust_root"}"#]
            #expect((end ?? 0 > 0) == isTrusting)
        }
        #expect(await gateway.stop() == 0)
    }

    @Test func `a root's file is read again if the environment names it, and a faulty file is refused`() async throws {
        let folder = try ScratchFolder()
        let root = try folder.write(Sample.stranger.rootPEM, to: "root.pem")
        let gateway = try await RunningGateway(["GATEWAY_TRUST_ROOTS": root + "=Production"])
        func verdict() async throws -> String { try await Verdict(gateway.verify(Sample.receipt(0)).json).verdict }
        #expect(try await verdict() == "rejected")
        try folder.replace("root.pem", with: Sample.pki.rootPEM)
        // Without a signal.
        try await eventually("the new root is trusted") { try await verdict() == "genuine" }
        #expect(try await Verdict(gateway.verify(Sample.forged(0)).json).reason == "anchor_untrusted")
        try folder.replace("root.pem", with: "no certificate\n")
        gateway.hangUp()
        try await gateway.expect(refusals: 1)
        #expect(try await Scrape(gateway)["configuration_last_reload_successful"] == 0)
        #expect(try await verdict() == "genuine")
        try await eventually("the file is named in the log") {
            gateway.transcript.lines.contains { $0.contains("Configuration rejected") && $0.contains("root.pem") }
        }
        #expect(await gateway.stop() == 0)
    }

    @Test func `a request in flight is answered, although its root is removed meanwhile`() async throws {
        let folder = try ScratchFolder()
        let root = try folder.write(Sample.pki.rootPEM, to: "root.pem")
        try await withStage("faults: [{latency: 5}]", ["GATEWAY_TRUST_ROOTS": root + "=Sandbox+Production"]) { stage in
            async let answer = stage.gateway.verify(Sample.receipt(0), ["mode": "apple"])
            try await eventually("Apple is asked") { stage.apple.statsDetails.inFlight == 1 }
            try folder.replace("root.pem", with: Sample.stranger.rootPEM)
            stage.gateway.hangUp()
            try await stage.gateway.expect(successes: 1)
            #expect(try await Verdict(answer.json).isApples)
            // The same request, and one that Apple's cached answer would serve.
            for mode in ["apple", "auto"] {
                let later = try await Verdict(stage.gateway.verify(Sample.receipt(0), ["mode": mode]).json)
                #expect(later.reason == "anchor_untrusted", "\(later)")
            }
        }
    }
}
