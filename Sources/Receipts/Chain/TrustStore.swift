// SPDX-License-Identifier: Apache-2.0

/// The trust anchors a verifier accepts: Apple's roots and the operator's additions.
public struct TrustStore: Hashable, Sendable {
    /// All anchors, Apple's first.
    public private(set) var anchors: [TrustAnchor]
    /// The operator's intermediates of transaction receipts; see `add(intermediatesPEM:)`.
    var intermediates: [OwnedCertificate] = []

    /// Creates a store of exactly these anchors.
    public init(anchors: [TrustAnchor]) {
        self.anchors = anchors
    }

    /// Apple's roots for production and sandbox, pinned by fingerprint (<https://www.apple.com/certificateauthority/>).
    public static let apple = TrustStore(
        anchors: [
            "B0B1730ECBC7FF4505142C49F1295E6EDA6BCAED7E2C68C5BE91B5A11001F024",  // Apple Inc. Root CA
            "C2B9B042DD57830E7D117DAC55AC8AE19407D38E41D88F3215BC3A890444A050",  // Apple Root CA - G2
            "63343ABFB89A6A03EBB57E9B3F5FA7BE7C4F5C756F3017B3A8C488C3653E9179",  // Apple Root CA - G3
        ].compactMap(Fingerprint.init(hexadecimal:)).map {
            TrustAnchor(fingerprint: $0, environments: [.production, .sandbox])
        })

    /// Adds an anchor or its environments. Of anchors with one subject, the first four close chains without a root.
    public mutating func add(_ anchor: TrustAnchor) {
        guard let index = anchors.firstIndex(where: { $0.fingerprint == anchor.fingerprint }) else {
            return anchors.append(anchor)
        }
        anchors[index].environments.formUnion(anchor.environments)
        anchors[index].certificate = anchors[index].certificate ?? anchor.certificate
        anchors[index].isPinned = anchors[index].isPinned || anchor.isPinned
    }

    /// Adds every certificate of a PEM text (RFC 7468); text between the blocks is ignored.
    public mutating func add(pem: String, environments: Set<Environment>) throws(TrustAnchorError) {
        for der in try PEM.certificates(in: pem) { add(try TrustAnchor(der: der, environments: environments)) }
    }

    /// True if receipts from Xcode can be genuine; only then is their BER form read.
    var acceptsXcode: Bool { anchors.contains { $0.environments.contains(.xcode) } }

    func anchor(with fingerprint: Fingerprint) -> TrustAnchor? {
        anchors.first { $0.fingerprint == fingerprint }
    }

    /// Returns the anchors with a known certificate of this subject, in the order of addition.
    func anchors(withSubject subject: Span<UInt8>) -> [(TrustAnchor, OwnedCertificate)] {
        let known = anchors.compactMap { anchor in anchor.certificate.map { (anchor, $0) } }
        return Array(known.filter { $1.subject.equals(subject) }.prefix(Self.maximumNamesakes))
    }

    /// Returns the operator's anchors with the name and the key of a self-issued certificate. Test chains carry other
    /// certificates of the same root key.
    func anchors(standingFor root: Certificate, in bytes: Span<UInt8>) -> [(TrustAnchor, OwnedCertificate)] {
        let key = bytes.extracting(root.publicKey.encoding)
        return anchors(withSubject: bytes.extracting(root.subject)).filter { anchor, certificate in
            !anchor.isPinned && certificate.publicKey.equals(key)
        }
    }

    /// True if an operator added anchors to Apple's.
    package var hasOperatorsAnchors: Bool { anchors.contains { !$0.isPinned } }

    /// The operator's roots for Apple's environments. What was verified while some of them were trusted still holds if
    /// all of these are trusted.
    package var operatorsRoots: Set<OperatorsRoot> {
        anchors.reduce(into: []) { roots, anchor in
            guard !anchor.isPinned else { return }
            for environment in anchor.environments where environment.isApples {
                roots.insert(OperatorsRoot(anchor.fingerprint, environment))
            }
        }
    }

    /// True if both stores have the same intermediates of transaction receipts.
    package func hasIntermediates(of other: TrustStore) -> Bool { intermediates == other.intermediates }

    /// The maximum number of anchors of one subject tried for a chain without its root: each costs a forged receipt one
    /// RSA verification. An authority that renews its root has two.
    private static let maximumNamesakes = 4
}

/// A root that an operator added, and an environment that it may sign for.
package struct OperatorsRoot: Hashable, Sendable {
    package let fingerprint: Fingerprint
    package let environment: Environment

    package init(_ fingerprint: Fingerprint, _ environment: Environment) {
        (self.fingerprint, self.environment) = (fingerprint, environment)
    }
}

/// The textual encoding of certificates (RFC 7468 §5).
package enum PEM {
    private static let begin = "-----BEGIN CERTIFICATE-----"
    private static let end = "-----END CERTIFICATE-----"

    /// Returns at least one certificate.
    package static func certificates(in text: String) throws(TrustAnchorError) -> [[UInt8]] {
        var certificates: [[UInt8]] = []
        var block: String?
        for line in text.split(whereSeparator: \.isNewline) {
            switch (line.trimmingSpaces, block) {
            case (begin, nil):
                block = ""
            case (begin, .some):
                throw .unterminatedPEM
            case (end, let body?):
                certificates.append(try decode(body))
                block = nil
            case (let body, .some):
                block?.append(contentsOf: body)
            default:
                continue
            }
        }
        guard block == nil else { throw .unterminatedPEM }
        guard !certificates.isEmpty else { throw .noCertificate }
        return certificates
    }

    private static func decode(_ body: String) throws(TrustAnchorError) -> [UInt8] {
        do throws(Base64Error) {
            return try Base64.decode(body)
        } catch {
            throw .malformedPEM(error)
        }
    }
}

extension Substring {
    fileprivate var trimmingSpaces: Substring {
        let start = drop { $0 == " " || $0 == "\t" }
        guard let last = start.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
        return start[...last]
    }
}
