// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

/// Roots that an operator adds: for test chains, for Xcode, and for local tests.
struct OperatorsRootTests {
    private static let pki = SignedSamples.pki, xcode = SignedSamples.xcode

    private static func text(_ name: String) throws -> [UInt8] {
        SignedSamples.forge.evidence(with: try #require(JWSFault(named: name)))
    }

    // MARK: Roots by name and key

    @Test func `another certificate of the same root key is accepted for an operator's root alone`() throws {
        let text = try Self.text("root-reissued")
        #expect(SignedSamples.verifier.brokenRule(ofJWS: text) == .anchorUntrusted)
        let operators = try ReceiptVerifier.trusting([Self.pki.root], for: [.sandbox])
        #expect(operators.brokenRule(ofJWS: text) == nil)
        let both = try ReceiptVerifier.trusting([Self.pki.reissuedRoot], for: [.sandbox])
        #expect(both.brokenRule(ofJWS: SignedSamples.transaction()) == nil)
    }

    @Test func `a root stays pinned when an operator adds its certificate`() throws {
        let fingerprint = Fingerprint(of: Self.pki.root.der.span)
        var store = TrustStore(anchors: [TrustAnchor(fingerprint: fingerprint, environments: [.sandbox])])
        try store.add(pem: Self.pki.root.pem, environments: [.sandbox])
        let verifier = ReceiptVerifier(trustStore: store)
        #expect(verifier.brokenRule(ofJWS: try Self.text("root-reissued")) == .anchorUntrusted)
        #expect(verifier.brokenRule(ofJWS: SignedSamples.transaction()) == nil)
        // The added certificate closes the chain, and beside another root headers of two are read.
        try store.add(pem: TransactionPKI(seed: 2).root.pem, environments: [.sandbox])
        let both = ReceiptVerifier(trustStore: store)
        #expect(both.brokenRule(ofJWS: try Self.text("x5c-of-two")) == .x5cCountWrong)
    }

    @Test func `a root of the same name and another key is not the operator's`() throws {
        let verifier = try ReceiptVerifier.trusting([TransactionPKI(seed: 2).root], for: [.sandbox])
        #expect(verifier.brokenRule(ofJWS: SignedSamples.transaction()) == .anchorUntrusted)
        let both = try ReceiptVerifier.trusting([TransactionPKI(seed: 2).root, Self.pki.root], for: [.sandbox])
        #expect(both.brokenRule(ofJWS: SignedSamples.transaction()) == nil)
        #expect(both.brokenRule(ofJWS: TransactionPKI(seed: 3).jws(TransactionContents())) == .anchorUntrusted)
    }

    @Test func `an operator's root signs for its environments alone`() throws {
        let sandbox = try ReceiptVerifier.trusting([Self.pki.root], for: [.sandbox])
        #expect(sandbox.brokenRule(ofJWS: SignedSamples.transaction()) == nil)
        for environment in ["Production", "Xcode", "LocalTesting"] {
            let text = SignedSamples.transaction { $0.environment = environment }
            #expect(sandbox.brokenRule(ofJWS: text) == .environmentNotAllowed)
            let allowed = try ReceiptVerifier.trusting(
                [Self.pki.root], for: [try #require(Environment(rawValue: environment))])
            #expect(allowed.brokenRule(ofJWS: text) == nil)
            #expect(allowed.brokenRule(ofJWS: SignedSamples.transaction()) == .environmentNotAllowed)
        }
    }

    @Test func `a transaction without environment may be one of production`() throws {
        let text = SignedSamples.transaction { $0.environment = nil }
        for environment in Environment.allCases {
            let verifier = try ReceiptVerifier.trusting([Self.pki.root], for: [environment])
            let expected: Rule? = environment == .production ? nil : .environmentNotAllowed
            #expect(verifier.brokenRule(ofJWS: text) == expected)
        }
    }

    // MARK: Xcode

    @Test func `what Xcode signs is genuine under its own root for environment Xcode`() throws {
        let verifier = try ReceiptVerifier.trusting([Self.xcode.certificate], for: [.xcode])
        let transaction = try verifier.verifyTransaction(SignedSamples.xcodeTransaction(), at: SignedSamples.now)
        #expect(transaction.environment == .xcode && transaction.transactionID == "0")
        // The fraction of a millisecond is dropped.
        #expect(transaction.signedDate == TransactionContents.signedByDefault)
        #expect(transaction.expiresDate == TransactionContents.xcode.expiresDate)
        let app = try verifier.verifyAppTransaction(Self.xcode.jws(AppTransactionContents.xcode), at: SignedSamples.now)
        #expect(app.environment == .xcode && app.appAppleID == nil)
        // -62135769600000.4473, rounded down.
        #expect(app.originalPurchaseDate == Timestamp(millisecondsSince1970: -62_135_769_600_001))
    }

    @Test func `Xcode's certificate signs for nothing that Apple signs`() throws {
        let all = try ReceiptVerifier.trusting([Self.xcode.certificate], for: Set(Environment.allCases))
        for environment in ["Production", "Sandbox", nil] {
            let text = SignedSamples.xcodeTransaction { $0.environment = environment }
            #expect(all.brokenRule(ofJWS: text) == .environmentNotAllowed)
        }
        let sandbox = try ReceiptVerifier.trusting([Self.xcode.certificate], for: [.sandbox])
        #expect(sandbox.brokenRule(ofJWS: SignedSamples.xcodeTransaction()) == .leafMarkerMissing)
    }

    @Test func `another Xcode's certificate is not trusted`() throws {
        let other = XcodeTransactionPKI(seed: 2)
        let verifier = try ReceiptVerifier.trusting([Self.xcode.certificate, Self.pki.root], for: [.xcode])
        #expect(verifier.brokenRule(ofJWS: other.jws(TransactionContents.xcode)) == .anchorUntrusted)
        #expect(ReceiptVerifier().brokenRule(ofJWS: SignedSamples.xcodeTransaction()) == .x5cCountWrong)
    }

    @Test func `a signature is verified in every environment`() throws {
        let verifier = try ReceiptVerifier.trusting(
            [Self.xcode.certificate, Self.pki.root], for: [.xcode, .localTesting])
        for environment in ["Xcode", "LocalTesting"] {
            let texts = [
                SignedSamples.xcodeTransaction { $0.environment = environment },
                SignedSamples.transaction { $0.environment = environment },
            ]
            for text in texts {
                #expect(verifier.brokenRule(ofJWS: text) == nil)
                let parts = text.split(separator: UInt8(ascii: "."))
                let unsigned = Array(parts[0]) + [UInt8(ascii: ".")] + Array(parts[1]) + [UInt8(ascii: ".")]
                #expect(verifier.brokenRule(ofJWS: unsigned) == .jwsSignatureLengthWrong)
                let zeros = Base64URLText.encode([UInt8](repeating: 0, count: 64))
                #expect(verifier.brokenRule(ofJWS: unsigned + zeros) == .signatureInvalid)
            }
        }
    }

    @Test func `fractions are read where Xcode signs, and nowhere else`() throws {
        func text(_ number: String) -> [UInt8] {
            SignedSamples.transaction { contents in
                contents.expiresDate = nil
                contents.environment = "Xcode"
                contents = contents.adding("\"expiresDate\":\(number)")
            }
        }
        let xcode = try ReceiptVerifier.trusting([Self.pki.root], for: [.xcode])
        for (number, milliseconds) in [("1760000000123.9", 1_760_000_000_123), ("1.76e12", 1_760_000_000_000)] {
            let read = try xcode.verifyTransaction(text(number), at: SignedSamples.now)
            #expect(read.expiresDate == Timestamp(millisecondsSince1970: Int64(milliseconds)))
            #expect(SignedSamples.verifier.brokenRule(ofJWS: text(number)) == .claimMalformed)
        }
        for number in ["1e300", "-1e300", "\"1\"", "[]"] {
            #expect(xcode.brokenRule(ofJWS: text(number)) == .claimMalformed)
        }
    }
}
