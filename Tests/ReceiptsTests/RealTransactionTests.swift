// SPDX-License-Identifier: Apache-2.0

import Foundation
import RealCorpus
import Testing

@testable import Receipts

/// Transactions, renewals and notifications that Apple really signed, as JWS. They are no part of this project.
@Suite(
    .enabled(
        if: RealTransactions.folder != nil,
        """
        Set the environment variable RECEIPT_CORPUS to a folder beside which ../jws holds signed transactions \
        (index.json and the files it names).
        """))
struct RealTransactionTests {
    @Test func `there are transactions of Apple's and of others`() throws {
        let rows = try RealTransactions.index()
        #expect(rows.contains { $0.isGenuine } && rows.contains { !$0.isGenuine && $0.jws?.x5c.isEmpty == false })
    }

    @Test(arguments: try RealTransactions.index().filter(\.isGenuine))
    func `the certificates lead to Apple Root CA - G3, and the signature is ES256`(_ row: RealTransactions.Row) throws {
        let jws = try #require(row.jws), date = try #require(row.signedDate_ms)
        let chain = try CertificateChain(x5c: jws.x5c, trustStore: .apple)
        #expect(chain.info.isApples && !chain.info.hasUnknownIntermediate && chain.info.belowAnchor.count == 2)
        #expect(
            chain.info.anchor.fingerprint.description
                == "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179")
        #expect(chain.environments == [.production, .sandbox])
        try chain.validity.check(at: Timestamp(millisecondsSince1970: Int64(date)), grace: .zero)
        #expect(try chain.key.verifies(jws.signature, over: jws.signingInput, .es256))
        var changed = jws.signingInput
        changed[changed.count / 2] ^= 1
        #expect(try !chain.key.verifies(jws.signature, over: changed, .es256))
    }

    @Test(arguments: try RealTransactions.index().filter { !$0.isGenuine && $0.jws?.x5c.isEmpty == false })
    func `certificates that lead elsewhere are not trusted`(_ row: RealTransactions.Row) throws {
        let broken = CertificateChain.brokenRule(x5c: try #require(row.jws).x5c, trustStore: .apple)
        #expect(row.class == "Xcode" ? broken == .anchorUntrusted : broken != nil)
    }

    @Test(arguments: try RealTransactions.index().filter { $0.class == "Xcode" })
    func `what Xcode signed is genuine under its own root for environment Xcode`(_ row: RealTransactions.Row) throws {
        let jws = try #require(row.jws)
        let root = try TrustAnchor(der: try #require(jws.x5c.first), environments: [.xcode])
        let chain = try CertificateChain(x5c: jws.x5c, trustStore: TrustStore(anchors: [root]))
        #expect(chain.environments == [.xcode])
        #expect(try chain.key.verifies(jws.signature, over: jws.signingInput, .es256))
    }
}

enum RealTransactions {
    static let folder = RealCorpus.folder(besideReceipts: "jws")

    /// The used fields of a row of `index.json`.
    struct Row: Decodable, Sendable, CustomTestStringConvertible {
        let file: String
        let `class`: String
        let expected: String
        /// Xcode writes fractions.
        let signedDate_ms: Double?
        /// `transaction`, `renewal`, `appTransaction` or `notification`.
        let kind: String
        let environment: String?
        let bundleId: String?
        let productId: String?
        let transactionId: String?
        let originalTransactionId: String?
        let notificationType: String?
        let subtype: String?
    }

    /// The parts of a JWS in its compact form (RFC 7515 §7.1), unchecked.
    struct JWS {
        let x5c: [[UInt8]]
        let signingInput: [UInt8]
        let signature: [UInt8]
    }

    static func index() throws -> [Row] { try RealCorpus.index(of: folder) }
}

extension RealTransactions.Row {
    var testDescription: String { file }
    var isGenuine: Bool { expected == "genuine" }

    /// The file without its last newline; nil if it cannot be read.
    var text: String? {
        guard let url = RealTransactions.folder?.appending(path: file) else { return nil }
        return try? String(contentsOf: url, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Nil if the file is no JWS with certificates.
    var jws: RealTransactions.JWS? {
        struct Header: Decodable { let x5c: [Data] }
        guard let text else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Data(base64URL: parts[0]), let signature = Data(base64URL: parts[2]),
            let x5c = try? JSONDecoder().decode(Header.self, from: header).x5c
        else { return nil }
        let signingInput = Array(text.utf8.prefix(parts[0].utf8.count + 1 + parts[1].utf8.count))
        return RealTransactions.JWS(x5c: x5c.map(Array.init), signingInput: signingInput, signature: Array(signature))
    }
}

extension Data {
    /// Base64url without padding (RFC 7515 §2).
    fileprivate init?(base64URL text: Substring) {
        let standard = text.replacing("-", with: "+").replacing("_", with: "/")
        self.init(base64Encoded: standard + String(repeating: "=", count: (4 - standard.count % 4) % 4))
    }
}
