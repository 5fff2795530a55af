// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The digests Apple signs receipts and certificates with.
enum DigestAlgorithm: CaseIterable, Hashable, Sendable {
    case sha1
    case sha256

    init?(_ identifier: Span<UInt8>) {
        if identifier.equals(ObjectIdentifier.sha256) {
            self = .sha256
        } else if identifier.equals(ObjectIdentifier.sha1) {
            self = .sha1
        } else {
            return nil
        }
    }
}

/// How a signature was made; the digest is nil where the algorithm leaves it to its surroundings.
struct SignatureAlgorithm: Hashable, Sendable {
    let digest: DigestAlgorithm?

    init?(_ identifier: Span<UInt8>) {
        if identifier.equals(ObjectIdentifier.rsaEncryption) {
            digest = nil
        } else if identifier.equals(ObjectIdentifier.sha256WithRSAEncryption) {
            digest = .sha256
        } else if identifier.equals(ObjectIdentifier.sha1WithRSAEncryption) {
            digest = .sha1
        } else {
            return nil
        }
    }
}

// AlgorithmIdentifier ::= SEQUENCE {
//     algorithm   OBJECT IDENTIFIER,
//     parameters  ANY DEFINED BY algorithm OPTIONAL }            -- RFC 5280 §4.1.1.2
extension DERReader {
    /// Reads an AlgorithmIdentifier and returns the range of its OBJECT IDENTIFIER. Parameters are NULL or absent.
    mutating func algorithmIdentifier() throws(ReceiptError) -> Range<Int> {
        let element = try next(.sequence)
        return try algorithm(identifiedBy: element)
    }

    /// Reads the contents of an AlgorithmIdentifier and returns the range of its OBJECT IDENTIFIER.
    func algorithm(identifiedBy element: DERElement) throws(ReceiptError) -> Range<Int> {
        var fields = reader(of: element)
        let identifier = try fields.objectIdentifier()
        if let null = try fields.nextIfPresent(.null), !null.contents.isEmpty {
            throw ReceiptError(.derTrailingBytes, at: .offset(null.start))
        }
        try fields.finish()
        return identifier
    }
}
