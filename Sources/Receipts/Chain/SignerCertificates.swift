// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The certificates that came with a signature, and the name of the signer's among them. Not read yet, and not trusted.
///
/// Their source does not matter: the set of a PKCS #7 container, or the x5c of a JWS header (RFC 7515 §4.1.6).
struct SignerCertificates: ~Escapable {
    /// The bytes that all offsets refer to.
    let bytes: Span<UInt8>
    /// The encoding of each certificate.
    let encodings: [Range<Int>]
    let signer: SignerIdentifier

    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>, at encodings: [Range<Int>], signer: SignerIdentifier) {
        self.bytes = bytes
        self.encodings = encodings
        self.signer = signer
    }
}

/// The choice of one certificate among several as the signer's.
enum SignerIdentifier: Hashable, Sendable {
    /// The one with this issuer, a Name's whole encoding, and these contents of the serial number (RFC 5652 §5.3). Both
    /// stand side by side.
    case issuerAndSerialNumber(issuer: Range<Int>, serialNumber: Range<Int>)
    /// The first one, as in x5c (RFC 7515 §4.1.6).
    case first

    /// The bytes that name the signer; none are needed for the first one.
    var name: Range<Int> {
        switch self {
        case .issuerAndSerialNumber(let issuer, let serialNumber): issuer.lowerBound..<serialNumber.upperBound
        case .first: 0..<0
        }
    }
}
