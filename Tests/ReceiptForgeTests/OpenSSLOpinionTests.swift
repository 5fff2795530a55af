// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Testing

/// Runs every fault through OpenSSL alone: a check of the forge, and the list of checks that OpenSSL does not make.
struct OpenSSLOpinionTests {
    private static let forge = FaultForge(pki: Samples.pki)

    private static func isAccepted(_ fault: ReceiptFault) -> Bool {
        guard case .der(let receipt) = forge.evidence(with: fault) else { return false }
        return OpenSSLVerifier.samples.signedContent(of: receipt) != nil
    }

    @Test func `OpenSSL accepts every legitimate oddity`() {
        let accepted = ReceiptFault.allCases.filter { $0.expected == .genuine && Self.isAccepted($0) }.map(\.name)
        let legitimate = ReceiptFault.allCases.filter { $0.expected == .genuine }.map(\.name)
        // The missing one is text, not a receipt.
        #expect(Set(legitimate).subtracting(accepted) == ["base64-with-line-breaks"])
    }

    @Test func `faults that OpenSSL lets through are known one by one`() {
        let accepted = ReceiptFault.allCases.filter { $0.expected != .genuine && Self.isAccepted($0) }.map(\.name)
        let known = Self.acceptedInEncoding + Self.acceptedInPayload + Self.acceptedInContainer + Self.acceptedInChain
        #expect(Set(accepted).symmetricDifference(known) == [])
    }

    private static let acceptedInEncoding = [
        "trailing-byte", "trailing-receipt", "non-minimal-length", "length-of-five-bytes", "indefinite-length",
        "xcode-shape", "constructed-octet-string", "nested-constructed-octet-string",
    ]

    /// OpenSSL does not read the payload. Its acceptance shows that these are properly signed.
    private static let acceptedInPayload = [
        "attribute-type-negative", "attribute-type-two-to-the-32-plus-2", "bundle-id-as-integer", "bundle-id-empty",
        "bundle-id-missing", "bundle-id-twice", "bundle-id-with-invalid-utf8", "bundle-id-with-nul",
        "bundle-id-with-overlong-utf8", "bytes-after-inner-value", "bytes-after-last-field", "bytes-after-payload",
        "creation-date-at-hour-25", "creation-date-empty", "creation-date-in-future", "creation-date-missing",
        "creation-date-on-february-30", "creation-date-twice", "creation-date-without-zone",
        "expires-date-on-february-30", "inner-value-too-long", "integer-over-64-bits", "ten-mebibytes",
        "non-minimal-integer", "payload-as-sequence", "product-id-twice", "product-id-with-nul", "production-receipt",
        "purchase-as-sequence", "receipt-type-missing", "receipt-type-unknown", "ten-thousand-attributes",
        "twenty-one-thousand-purchases",
    ]

    /// OpenSSL rejects `signed-attributes-confusion` only because a receipt's attributes begin with an INTEGER where
    /// CMS has an OBJECT IDENTIFIER: an accident, not a check.
    private static let acceptedInContainer = [
        "content-type-changed", "digest-algorithms-with-another", "digest-md5", "empty-content", "hundred-certificates",
        "signature-algorithm-mismatch",
        "signed-attributes", "signed-data-version-three", "signer-by-key-identifier", "unsigned-attributes",
    ]

    private static let acceptedInChain = [
        "certificate-signed-with-md5", "decoy-signer-last", "intermediate-without-marker", "leaf-exponent-3",
        "leaf-is-ca", "leaf-key-of-1024-bits", "leaf-may-not-sign", "leaf-without-marker", "no-markers",
        "unrelated-certificate",
    ]
}
