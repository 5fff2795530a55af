// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Testing

@testable import Gateway

@Suite("Redaction")
struct RedactionTests {
    private static let receipt = Array("receipt-bytes".utf8)

    @Test func `evidence shows how large it is, and no byte of it`() {
        expectHidden(Evidence.appReceipt(Self.receipt), as: "Evidence(app receipt, 13 bytes)")
    }

    @Test func `a request shows nothing of the receipt, the app, the device or the secret`() {
        var request = VerificationRequest(evidence: .appReceipt(Self.receipt))
            .with { $0.expectations = Expectations(bundleID: "hush.app", deviceIdentifier: Self.receipt) }
        request = request.withClient { $0.permittedApps = .only(["hush.app"]) }
        request = request.with { $0.sentSecret = Secret("hush-hush") }
        expectHidden(request, as: "VerificationRequest(Evidence(app receipt, 13 bytes))")
    }

    @Test func `a request to Apple shows nothing of the receipt, the app or the secret`() {
        let subject = VerificationSubject.lookup(bundleID: "hush.app", transactionID: "hush-1")
        let options = UpstreamRequest(subject: subject, sentSecret: Secret("hush-hush"))
        expectHidden(options, as: "UpstreamRequest(VerificationSubject(lookup))")
    }

    private func expectHidden(_ value: some Any, as description: String) {
        var shown = "\(value) \(String(reflecting: value)) \([value])"
        dump(value, to: &shown)
        dump([value], to: &shown)
        // 114 is the first byte of the receipt.
        #expect(!shown.contains("hush") && !shown.contains("114"), "\(shown)")
        #expect("\(value)" == description)
    }
}
