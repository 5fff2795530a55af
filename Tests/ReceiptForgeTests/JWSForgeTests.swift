// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Receipts
import Testing

@testable import ReceiptForge

/// The signed data of the forge, in the opinion of others.
struct JWSForgeTests {
    private static let pki = TransactionPKI(seed: 1)
    private static let forge = JWSForge(pki: pki)
    private static let texts = JWSFault.allCases.map { (fault: $0, text: forge.evidence(with: $0)) }

    // MARK: Well-formed

    @Test func `OpenSSL verifies a transaction and reads what was signed`() {
        let contents = TransactionContents.complete
        #expect(OpenSSLJWSVerifier.payload(of: Self.pki.jws(contents), root: Self.pki.root) == contents.payload)
    }

    @Test func `OpenSSL verifies what the forge signs like Xcode`() throws {
        let xcode = XcodeTransactionPKI(seed: 1)
        let payload = try #require(
            OpenSSLJWSVerifier.payload(of: xcode.jws(TransactionContents.xcode), root: xcode.certificate))
        #expect(String(decoding: payload, as: UTF8.self).contains(#""signedDate":1760000000123.4473,"#))
    }

    @Test func `OpenSSL refuses another root and a changed text`() {
        let text = Self.pki.jws(TransactionContents())
        #expect(OpenSSLJWSVerifier.payload(of: text, root: TransactionPKI(seed: 2).root) == nil)
        #expect(OpenSSLJWSVerifier.payload(of: Self.forge.signed { $0[40] ^= 1 }, root: Self.pki.root) == nil)
    }

    @Test func `a transaction is written like one of Apple's`() {
        let expected = """
            {"transactionId":"2000000900000002","originalTransactionId":"2000000900000001",\
            "webOrderLineItemId":"2000000090000002","bundleId":"com.example.forge",\
            "productId":"com.example.forge.monthly","subscriptionGroupIdentifier":"20900001",\
            "purchaseDate":1759999940123,"originalPurchaseDate":1759999640123,"expiresDate":1760000240123,"quantity":1,\
            "type":"Auto-Renewable Subscription","inAppOwnershipType":"PURCHASED","signedDate":1760000000123,\
            "environment":"Sandbox","transactionReason":"RENEWAL","storefront":"DEU","storefrontId":"143443",\
            "price":4990,"currency":"EUR","appTransactionId":"700000000000000001"}
            """
        #expect(String(decoding: TransactionContents().payload, as: UTF8.self) == expected)
        // Genuine ones in the sandbox have 5.3 kB.
        #expect((4_500...7_000).contains(Self.pki.jws(TransactionContents()).count))
    }

    @Test func `a header names the algorithm and three certificates, and nothing else`() throws {
        let header = try #require(Self.pki.jws(TransactionContents()).split(separator: UInt8(ascii: ".")).first)
        let certificates = Self.pki.certificates.map { "\"\(Data($0.der).base64EncodedString())\"" }
        let expected = "{\"alg\":\"ES256\",\"x5c\":[\(certificates.joined(separator: ","))]}"
        #expect(Array(header) == Base64URLText.encode(Array(expected.utf8)))
    }

    @Test func `base64url is base64 with two other characters and no padding`() {
        var generator = SplitMix64(seed: 1)
        for count in 0..<70 {
            let bytes = generator.bytes(count: count)
            let base64 = Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            #expect(String(decoding: Base64URLText.encode(bytes), as: UTF8.self) == base64.replacing("=", with: ""))
        }
    }

    @Test func `a signature and its twin are both valid`() throws {
        let message = Array("header.payload".utf8), signature = Self.pki.sign(message)
        #expect(SignatureTwin.twin(of: SignatureTwin.twin(of: signature)) == signature)
        #expect(Set([SignatureTwin.high(signature), SignatureTwin.low(signature)]).count == 2)
        for name in ["signature-high-s", "signature-low-s"] {
            let text = Self.forge.evidence(with: try #require(JWSFault(named: name)))
            #expect(OpenSSLJWSVerifier.payload(of: text, root: Self.pki.root) != nil)
        }
    }

    // MARK: Faults

    @Test func `no two faults have the same text`() {
        #expect(Set(Self.texts.map(\.text)).count == JWSFault.allCases.count)
    }

    /// Faults of the payload are rejected for what they say: their signature and their chain hold.
    @Test func `OpenSSL accepts legitimate oddities and wrong payloads, and rejects wrong signatures`() {
        let accepted = Set(
            JWSForge.payloads + JWSForge.claims + JWSForge.notifications
                + JWSFault.allCases.filter { $0.expected == .genuine })
        let rejected = Set(JWSForge.signatures + JWSForge.signatureNumbers)
        for (fault, text) in Self.texts where accepted.contains(fault) || rejected.contains(fault) {
            let isAccepted = OpenSSLJWSVerifier.payload(of: text, root: Self.pki.root) != nil
            #expect(isAccepted == accepted.contains(fault), "\(fault)")
        }
    }
}
