// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

@testable import ServerTestSupport
@testable import Telemetry

/// The expiry of certificates, and unknown intermediates.
struct CertificateInventoryTests {
    private static let appleRoot = "B0B1730ECBC7FF4505142C49F1295E6EDA6BCAED7E2C68C5BE91B5A11001F024"
    private static let worldwideG5 = "53FD008278E5A595FE1E908AE9C5E5675F26243264A5A6438C023E3CE2870760"

    private let lines = LogLines()
    private let inventory: CertificateInventory

    init() { inventory = CertificateInventory(logger: lines.logger()) }

    @Test func `the earliest configured end counts, and the newest of Apple's signers`() throws {
        inventory.configured(.redisClient, until: Self.day(300))
        inventory.configured(.redisClient, until: Self.day(90))
        inventory.configured(.redisClient, until: nil)
        inventory.saw(try Self.chain(signer: 20, Self.worldwideG5, 30, root: Self.appleRoot, 250))
        inventory.saw(try Self.chain(signer: 10, Self.worldwideG5, 40, root: Self.appleRoot, 250))
        #expect(inventory.end(of: .trustRoot) == Self.day(250) && inventory.end(of: .redisClient) == Self.day(90))
        #expect(inventory.end(of: .signer) == Self.day(20) && inventory.end(of: .intermediate) == Self.day(40))
        #expect(inventory.unknownIntermediates == 0 && lines.containing("").isEmpty)
    }

    @Test func `the roots that are trusted now count, also if only a chain shows their end`() throws {
        let root = ForgedPKI(seed: 1).root
        var store = TrustStore.apple
        try store.add(pem: root.pem, environments: [.sandbox])
        let end = try #require(store.anchors.compactMap(\.expires).first)
        inventory.trust(store)
        #expect(inventory.end(of: .trustRoot) == end)
        inventory.saw(try Self.chain(signer: 20, Self.worldwideG5, 30, root: Self.appleRoot, 250))
        #expect(inventory.end(of: .trustRoot) == Self.day(250))
        // Still known after a reload, and a removed root is not.
        inventory.trust(.apple)
        #expect(inventory.end(of: .trustRoot) == Self.day(250))
        let removed = Fingerprint(of: root.der.span).description
        inventory.saw(try Self.chain(signer: 20, Self.worldwideG5, 30, root: removed, 100))
        #expect(inventory.end(of: .trustRoot) == Self.day(250))
    }

    @Test
    func `an unknown intermediate below Apple's root is counted and logged, below another root not`()
        throws
    {
        let stranger = String(repeating: "ab", count: 32)
        inventory.saw(try Self.chain(signer: 20, stranger, 30, root: String(repeating: "cd", count: 32), 250))
        #expect(inventory.unknownIntermediates == 0 && inventory.end(of: .signer) == nil)
        // Verified anew after each reload of the roots, it is no news.
        for _ in 1...2 { inventory.saw(try Self.chain(signer: 20, stranger, 30, root: Self.appleRoot, 250)) }
        #expect(inventory.unknownIntermediates == 1)
        #expect(lines.containing(stranger).count == 1 && lines.containing(#""level":"warning""#).count == 1)
    }

    @Test func `a root for local tests alone is no certificate that customers need`() throws {
        var store = TrustStore(anchors: [])
        try store.add(pem: Forged.pki.rootPEM, environments: [.xcode, .localTesting])
        let root = try #require(store.anchors.first)
        inventory.trust(store)
        inventory.saw(
            VerifiedChainInfo(belowAnchor: [], anchor: .init(fingerprint: root.fingerprint, notAfter: Self.day(1))))
        #expect(inventory.end(of: .trustRoot) == nil)
        try store.add(pem: Forged.pki.rootPEM, environments: [.sandbox])
        inventory.trust(store)
        #expect(inventory.end(of: .trustRoot) == root.expires && root.expires != nil)
    }

    private static func day(_ number: Int64) -> Timestamp { Timestamp(millisecondsSince1970: number * 86_400_000) }

    private static func chain(
        signer: Int64, _ intermediate: String, _ intermediateEnd: Int64, root: String, _ rootEnd: Int64
    ) throws -> VerifiedChainInfo {
        func link(_ fingerprint: String, _ end: Int64) throws -> VerifiedChainInfo.Link {
            VerifiedChainInfo.Link(fingerprint: try #require(Fingerprint(hexadecimal: fingerprint)), notAfter: day(end))
        }
        let leaf = try link(String(repeating: "ef", count: 32), signer)
        return VerifiedChainInfo(
            belowAnchor: [leaf, try link(intermediate, intermediateEnd)], anchor: try link(root, rootEnd))
    }
}
