// SPDX-License-Identifier: Apache-2.0

// Extension ::= SEQUENCE {
//     extnID     OBJECT IDENTIFIER,
//     critical   BOOLEAN DEFAULT FALSE,
//     extnValue  OCTET STRING }                                  -- RFC 5280 §4.1

struct CertificateExtensions: Sendable {
    /// Basic constraints (RFC 5280 §4.2.1.9): true if the certificate may issue other certificates.
    private(set) var isCA = false
    /// The maximum number of intermediates between this certificate and the leaf; nil for no limit.
    private(set) var pathLength: Int64?
    /// Key usage (RFC 5280 §4.2.1.3); nil if not restricted.
    private(set) var keyUsage: KeyUsage?
    /// Apple's markers among the extensions.
    private(set) var markers: Set<Marker> = []
    private(set) var hasUnknownCriticalExtension = false
    let isEmpty: Bool

    init(_ fields: inout DERReader) throws(ReceiptError) {
        isEmpty = fields.isAtEnd
        guard !isEmpty else { return }
        var explicit = try fields.enter(.context(3))
        var list = try explicit.enter(.sequence)
        try explicit.finish()
        var seen: [Range<Int>] = []
        while !list.isAtEnd {
            let identifier = try read(&list)
            // RFC 5280 §4.2: an extension appears at most once.
            guard !seen.contains(where: { list.bytes.equals($0, identifier) }), seen.count < Self.maximumCount else {
                throw ReceiptError(.certificateMalformed)
            }
            seen.append(identifier)
        }
    }

    private static let maximumCount = 32

    private mutating func read(_ list: inout DERReader) throws(ReceiptError) -> Range<Int> {
        var fields = try list.enter(.sequence)
        let identifier = try fields.objectIdentifier()
        let isCritical = try fields.isTrueIfPresent()
        let value = fields.reader(of: try fields.next(.octetString))
        try fields.finish()
        let name = list.bytes.extracting(identifier)
        if name.equals(ObjectIdentifier.basicConstraints) {
            try readBasicConstraints(value)
        } else if name.equals(ObjectIdentifier.keyUsage) {
            keyUsage = try KeyUsage(value)
        } else if let marker = Marker(name) {
            markers.insert(marker)
        } else if isCritical {
            hasUnknownCriticalExtension = true
        }
        return identifier
    }

    /// BasicConstraints ::= SEQUENCE { cA BOOLEAN DEFAULT FALSE, pathLenConstraint INTEGER OPTIONAL }
    private mutating func readBasicConstraints(_ value: consuming DERReader) throws(ReceiptError) {
        var fields = try value.enter(.sequence)
        try value.finish()
        isCA = try fields.isTrueIfPresent()
        pathLength = fields.isAtEnd ? nil : try fields.integer()
        try fields.finish()
    }
}

/// The extensions by which Apple marks the purpose of a certificate. The raw values are the last two bytes of their
/// identifiers.
enum Marker: UInt16, Sendable {
    /// 1.2.840.113635.100.6.11.1: signers of receipts and transactions.
    case receiptSigning = 0x0B01
    /// 1.2.840.113635.100.6.2.1: Worldwide Developer Relations intermediates.
    case intermediate = 0x0201
    /// 1.2.840.113635.100.6.5.1: signers of transaction receipts until 2016.
    case storeReceiptSigning = 0x0501
    /// 1.2.840.113635.100.6.2.2: the iTunes Store intermediate above them.
    case storeIntermediate = 0x0202

    fileprivate init?(_ identifier: Span<UInt8>) {
        let start = ObjectIdentifier.markers, count = start.count
        guard identifier.count == count + 2, identifier.equals(0..<count, start) else { return nil }
        self.init(rawValue: UInt16(identifier[count]) << 8 | UInt16(identifier[count + 1]))
    }
}

/// KeyUsage ::= BIT STRING { digitalSignature (0), …, keyCertSign (5), … }
struct KeyUsage: Sendable {
    private let firstByte: UInt8

    init(_ value: consuming DERReader) throws(ReceiptError) {
        let contents = try value.next(.bitString).contents
        try value.finish()
        guard contents.count >= 2 else { throw ReceiptError(.certificateMalformed) }
        firstByte = value.bytes[contents.lowerBound + 1]
    }

    /// Bit 0 is the most significant bit.
    var allowsSignatures: Bool { firstByte & 0x80 != 0 }
    var allowsSigningCertificates: Bool { firstByte & 0x04 != 0 }
}

extension DERReader {
    /// Reads a BOOLEAN if one is next, else returns false. DER encodes true as 0xFF (X.690 §11.1).
    fileprivate mutating func isTrueIfPresent() throws(ReceiptError) -> Bool {
        guard let element = try nextIfPresent(.boolean) else { return false }
        guard element.contents.count == 1 else { throw ReceiptError(.certificateMalformed) }
        switch bytes[element.contents.lowerBound] {
        case 0x00: return false
        case 0xFF: return true
        default: throw ReceiptError(.certificateMalformed)
        }
    }
}
