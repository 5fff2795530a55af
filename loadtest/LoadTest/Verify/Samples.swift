// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Receipts

/// The authority that signs the samples of one kind of evidence.
struct SampleAuthority: Sendable {
    let evidence: ForgedEvidenceKind
    /// The certificates of the hierarchy, the signer's first, the root last.
    let certificates: [ReceiptForge.IssuedCertificate]
    private var intermediatesPEM: String?
    /// Returns random evidence, and its app.
    fileprivate let make: @Sendable (_ purchases: Int, inout SplitMix64) -> (bytes: [UInt8], bundleID: String)

    init(_ evidence: ForgedEvidenceKind, seed: UInt64) {
        switch evidence {
        case .receipt: self = .receipts(ForgedPKI(seed: seed))
        case .jws: self = .transactions(TransactionPKI(seed: seed))
        case .transactionReceipt: self = .transactionReceipts(ForgedPKI(seed: seed))
        case .notification: self = .notifications(TransactionPKI(seed: seed))
        }
    }

    private init(
        _ evidence: ForgedEvidenceKind, _ certificates: [ReceiptForge.IssuedCertificate],
        _ make: @escaping @Sendable (Int, inout SplitMix64) -> ([UInt8], String)
    ) {
        (self.evidence, self.certificates, self.make) = (evidence, certificates, make)
    }

    static func receipts(_ pki: ForgedPKI) -> SampleAuthority {
        SampleAuthority(.receipt, pki.certificates) { purchases, generator in
            let contents = ReceiptContents.random(using: &generator, purchases: purchases)
            return (pki.sign(contents), contents.bundleID)
        }
    }

    static func transactions(_ pki: TransactionPKI) -> SampleAuthority {
        SampleAuthority(.jws, pki.certificates) { _, generator in
            let contents = TransactionContents.random(using: &generator)
            return (pki.jws(contents), contents.bundleID ?? "")
        }
    }

    static func transactionReceipts(_ pki: ForgedPKI) -> SampleAuthority {
        var authority = SampleAuthority(.transactionReceipt, pki.certificates) { _, generator in
            let contents = TransactionReceiptContents.random(using: &generator)
            return (pki.sign(contents), contents.bundleID)
        }
        authority.intermediatesPEM = pki.intermediatesPEM
        return authority
    }

    static func notifications(_ pki: TransactionPKI) -> SampleAuthority {
        SampleAuthority(.notification, pki.certificates) { _, generator in
            // In the sandbox, and signed on the last day on which receipts are issued.
            let series = NotificationSeries(
                customers: 1000, bundleID: "com.example.forge", environment: "Sandbox",
                from: Corpus.issuedBefore.advanced(byDays: -1).timestamp, seed: generator.next())
            let number = Int(generator.fraction() * 100_000)
            return (series.notification(number, signedBy: pki), series.bundleID)
        }
    }

    func trustStore() throws -> TrustStore {
        var store = TrustStore(anchors: [])
        for root in certificates.suffix(1) { try store.add(pem: root.pem, environments: [.sandbox]) }
        if let intermediatesPEM { try store.add(intermediatesPEM: intermediatesPEM) }
        return store
    }
}

/// A signature of evidence, and what it covers.
struct SignedPart: Hashable, Sendable {
    /// The signed bytes.
    let content: [UInt8]
    /// The signature as OpenSSL takes it.
    let signature: [UInt8]
}

/// Evidence to verify, and its parts that the crypto floor works on.
///
/// A class, so that handing a sample to an implementation costs one reference and no more.
final class SampleReceipt: Sendable {
    let evidence: ForgedEvidenceKind
    /// The DER of a receipt, the text of a JWS, or the property list of a transaction receipt.
    let bytes: [UInt8]
    /// The evidence as requests carry it; empty for a JWS, which is text.
    let base64: [UInt8]
    /// All signatures: one signature, or three of a notification.
    let parts: [SignedPart]
    let bundleID: String
    let purchases: Int

    /// Takes evidence apart without the verifier's parsers, so that the floor does not depend on them; nil if that fails.
    init?(_ evidence: ForgedEvidenceKind, _ bytes: [UInt8], bundleID: String, purchases: Int) {
        guard let parts = Self.signedParts(of: bytes, evidence) else { return nil }
        self.evidence = evidence
        self.bytes = bytes
        base64 = evidence.isJWS ? [] : Array(ForgedEvidence.der(bytes).base64.utf8)
        self.parts = parts
        self.bundleID = bundleID
        self.purchases = purchases
    }

    private static func signedParts(of bytes: [UInt8], _ evidence: ForgedEvidenceKind) -> [SignedPart]? {
        switch evidence {
        case .receipt:
            guard let message = CMSMessage(der: bytes), let content = message.content,
                let signature = message.signature
            else { return nil }
            return [SignedPart(content: content, signature: signature)]
        case .jws, .notification:
            return messages(in: bytes, evidence)?.map { SignedPart(content: $0.content, signature: $0.signature) }
        case .transactionReceipt: return signedPart(ofPropertyList: bytes).map { [$0] }
        }
    }

    /// Returns the JWS, and each JWS in it if it is a notification; nil if it is no JWS.
    static func messages(in text: [UInt8], _ evidence: ForgedEvidenceKind) -> [JWSMessage]? {
        evidence == .notification ? JWSMessage.notification(text) : JWSMessage(text: text).map { [$0] }
    }

    /// Reads `{ "signature" = "…"; "purchase-info" = "…"; … }` as the forge writes it. The signature is one byte for the
    /// version, 256 bytes of RSA and the certificate; signed are the version and the purchase information.
    private static func signedPart(ofPropertyList text: [UInt8]) -> SignedPart? {
        let words = text.split(separator: UInt8(ascii: "\"")).map { String(decoding: $0, as: UTF8.self) }
        guard words.count > 7, words[1] == "signature", words[5] == "purchase-info",
            let signature = try? Base64.decode(words[3]), let purchaseInfo = try? Base64.decode(words[7]),
            signature.count > 257
        else { return nil }
        return SignedPart(content: signature.prefix(1) + purchaseInfo, signature: Array(signature[1..<257]))
    }
}

/// Distinct evidence of one kind with the same number of purchases, at least one piece.
struct SampleReceipts: Sendable {
    let purchases: Int
    let all: [SampleReceipt]

    var evidence: ForgedEvidenceKind { all[0].evidence }
    var meanByteCount: Int { mean(of: \.bytes.count) }
    var meanBase64ByteCount: Int { mean(of: \.base64.count) }

    private func mean(of size: KeyPath<SampleReceipt, Int>) -> Int {
        all.map { $0[keyPath: size] }.reduce(0, +) / all.count
    }
}

extension SampleReceipts {
    /// Makes evidence; the same seed gives the same contents.
    init(count: Int, purchases: Int, signedBy authority: SampleAuthority, seed: UInt64) throws(SampleError) {
        self.purchases = purchases
        var samples: [SampleReceipt] = []
        for number in 1...count {
            var generator = SplitMix64(seed: seed, purpose: "\(purchases) purchases, receipt \(number)")
            let (bytes, bundleID) = authority.make(purchases, &generator)
            guard let sample = SampleReceipt(authority.evidence, bytes, bundleID: bundleID, purchases: purchases) else {
                throw SampleError()
            }
            samples.append(sample)
        }
        all = samples
    }
}

/// OpenSSL does not read the forge's evidence.
struct SampleError: Error, Hashable, CustomStringConvertible {
    var description: String { "OpenSSL cannot read a receipt that was just made; this is a bug, please report it." }
}
