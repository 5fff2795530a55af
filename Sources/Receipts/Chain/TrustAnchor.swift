// SPDX-License-Identifier: Apache-2.0

/// A trusted root certificate and the environments it may sign for.
///
/// Genuine receipts carry their root, so a fingerprint suffices to trust Apple. An anchor with its certificate also
/// closes chains whose root was left out.
public struct TrustAnchor: Hashable, Sendable {
    /// SHA-256 of the root's DER encoding.
    public let fingerprint: Fingerprint
    /// The environments whose receipts it may sign.
    public internal(set) var environments: Set<Environment>
    /// Nil if only the fingerprint is known.
    var certificate: OwnedCertificate?
    /// True if exactly this root is trusted, as Apple's are; an operator's stands for every root with its name and key.
    var isPinned: Bool

    /// True if it may sign for Xcode or for tests, and for no environment of Apple's.
    package var isForLocalTests: Bool { !environments.contains(where: \.isApples) }

    /// The end of its certificate's validity; nil if only the fingerprint is known.
    public var expires: Timestamp? { certificate?.fields.validity.notAfter }

    /// Trusts the root with this fingerprint.
    public init(fingerprint: Fingerprint, environments: Set<Environment>) {
        self.fingerprint = fingerprint
        self.environments = environments
        certificate = nil
        isPinned = true
    }

    /// Trusts this root, a self-issued certificate in DER.
    public init(der: [UInt8], environments: Set<Environment>) throws(TrustAnchorError) {
        let certificate: OwnedCertificate
        do throws(ReceiptError) {
            certificate = try OwnedCertificate(der)
            try certificate.fields.publicKey.check()
        } catch {
            throw .certificateUnusable(error.rule)
        }
        guard certificate.fields.isSelfIssued(in: der.span) else { throw .notSelfIssued }
        fingerprint = Fingerprint(of: der.span)
        self.environments = environments
        self.certificate = certificate
        isPinned = false
    }
}

/// The faults of a file of trusted roots.
public enum TrustAnchorError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The text holds no `-----BEGIN CERTIFICATE-----` block.
    case noCertificate
    /// A block's contents are not base64.
    case malformedPEM(Base64Error)
    /// A block begins and does not end.
    case unterminatedPEM
    /// A certificate breaks a rule that no anchor may break.
    case certificateUnusable(Rule)
    /// A certificate was issued by another certificate; a trust anchor must be a root.
    case notSelfIssued
    /// The fault, as the rest of a sentence about the file.
    public var description: String {
        switch self {
        case .noCertificate: "contains no PEM certificate (no line '-----BEGIN CERTIFICATE-----')"
        case .malformedPEM(let fault): "contains a PEM block that \(fault)"
        case .unterminatedPEM: "contains a PEM block without '-----END CERTIFICATE-----'"
        case .certificateUnusable(let rule): "contains a certificate that breaks \(rule.rawValue): \(rule.explanation)"
        case .notSelfIssued: "contains a certificate that is not a root: its issuer is not its subject"
        }
    }
}

/// A certificate and the bytes its offsets refer to.
struct OwnedCertificate: Hashable, Sendable {
    let bytes: [UInt8]
    let fields: Certificate

    init(_ der: [UInt8]) throws(ReceiptError) {
        bytes = der
        fields = try Certificate(der.span, in: 0..<der.count)
    }

    // The fields are read from the bytes.
    static func == (one: OwnedCertificate, other: OwnedCertificate) -> Bool { one.bytes == other.bytes }

    func hash(into hasher: inout Hasher) { hasher.combine(bytes) }

    var subject: Span<UInt8> {
        @_lifetime(borrow self)
        get { bytes.span.extracting(fields.subject) }
    }

    var publicKey: Span<UInt8> {
        @_lifetime(borrow self)
        get { bytes.span.extracting(fields.publicKey.encoding) }
    }
}
