// SPDX-License-Identifier: Apache-2.0

/// The versions of transaction receipts whose signatures can be verified.
enum TransactionReceiptVersion: UInt8, Sendable {
    /// RSA-1024 and SHA-1, until 2016.
    case two = 2
    /// RSA-2048 and SHA-1.
    case three = 3
    /// RSA-2048 and SHA-256, still issued in 2025.
    case four = 4

    var algorithm: SignatureAlgorithm {
        switch self {
        case .two, .three: .sha1WithRSA
        case .four: .sha256WithRSA
        }
    }

    var purpose: SignerPurpose {
        self == .two ? .transactionReceiptVersion2 : SignerPurpose(algorithm: algorithm)
    }

    /// The bytes of version, signature and length.
    fileprivate var certificateStart: Int { 1 + (self == .two ? 128 : 256) + MemoryLayout<UInt32>.size }
}

/// The decoded `signature` of a transaction receipt.
///
/// ```
/// signature ::= version            -- 1 byte
///               rsaSignature       -- 128 bytes in version 2, 256 in versions 3 and 4
///               certificateLength  -- 4 bytes, big-endian
///               certificate        -- the signer's, in DER; nothing follows
/// ```
struct TransactionReceiptSignature: Sendable {
    /// The place of the signer's certificate.
    enum Certificate: Sendable {
        /// A range of the decoded signature.
        case der(Range<Int>)
        /// A range of the receipt, in base64, which decodes to so many bytes.
        case text(Range<Int>, byteCount: Int)
    }

    let version: TransactionReceiptVersion
    let certificate: Certificate
    /// The decoded signature, without the certificate if that is left in base64.
    fileprivate let blob: [UInt8]

    var rsaSignature: Span<UInt8> {
        @_lifetime(borrow self)
        get { blob.span.extracting(1..<version.certificateStart - MemoryLayout<UInt32>.size) }
    }
}

extension TransactionReceiptSignature {
    /// Decodes a range of the receipt.
    init(_ range: Range<Int>, of receipt: Span<UInt8>) throws(ReceiptError) {
        if let undecoded = Self(leavingCertificateOf: range, of: receipt) {
            self = undecoded
        } else {
            let blob = try receipt.base64Decoded(in: range, malformed: .transactionReceiptSignatureMalformed)
            try self.init(blob)
        }
    }

    private init(_ blob: [UInt8]) throws(ReceiptError) {
        guard let version = blob.first.flatMap(TransactionReceiptVersion.init) else {
            throw ReceiptError(.transactionReceiptVersionUnsupported)
        }
        let certificateStart = version.certificateStart
        guard blob.count > certificateStart,
            blob.span.certificateByteCount(before: certificateStart) == blob.count - certificateStart
        else { throw ReceiptError(.transactionReceiptSignatureMalformed) }
        self.init(version: version, certificate: .der(certificateStart..<blob.count), blob: blob)
    }

    /// Leaves the certificate of versions 3 and 4 in base64: its text is enough to compare it with a known signer's
    /// certificate. Decoding it takes as long as reading all fields. Nil for version 2 and for other forms, such as
    /// white space.
    private init?(leavingCertificateOf range: Range<Int>, of receipt: Span<UInt8>) {
        // 261 bytes precede the certificate, so no group of four characters has bytes of both.
        let (head, rest) = (range.prefix(348), range.dropFirst(348))
        guard let blob = try? Base64.decode(receipt.extracting(head)),
            let version = blob.first.flatMap(TransactionReceiptVersion.init), blob.count == version.certificateStart,
            let byteCount = receipt.byteCount(ofPlainBase64In: rest),
            byteCount == blob.span.certificateByteCount(before: blob.count)
        else { return nil }
        self.init(version: version, certificate: .text(rest, byteCount: byteCount), blob: blob)
    }
}

extension Span<UInt8> {
    /// Returns the number before the certificate, which is the certificate's length.
    fileprivate func certificateByteCount(before certificateStart: Int) -> Int {
        Int(load32(at: certificateStart - MemoryLayout<UInt32>.size).byteSwapped)
    }

    /// Returns the length of base64 once decoded, if it has no white space; nil if it cannot be base64 then.
    fileprivate func byteCount(ofPlainBase64In range: Range<Int>) -> Int? {
        guard !range.isEmpty, range.count % 4 == 0 else { return nil }
        let padding = (range.upperBound - 2..<range.upperBound).count { self[$0] == UInt8(ascii: "=") }
        return range.count / 4 * 3 - padding
    }

    fileprivate func base64Decoded(in range: Range<Int>, malformed: Rule) throws(ReceiptError) -> [UInt8] {
        do throws(Base64Error) {
            return try Base64.decode(extracting(range))
        } catch {
            throw ReceiptError(malformed, at: .offset(range.lowerBound + error.position))
        }
    }
}

/// A parsed transaction receipt. Not yet verified: its `purchase-info` is decoded and not read.
struct UnverifiedTransactionReceipt: Sendable {
    let bytes: [UInt8]
    let signature: TransactionReceiptSignature
    /// The signed data: the version byte and the decoded `purchase-info`.
    let content: [UInt8]
    /// The value of the unsigned `environment`.
    let unsignedEnvironment: Range<Int>?

    init(_ bytes: [UInt8], limits: Limits) throws(ReceiptError) {
        guard bytes.count <= limits.maximumTransactionReceiptBytes else { throw ReceiptError(.receiptTooLarge) }
        let members = try Members(bytes.span, limits: limits)
        guard let signatureText = members.signature, let purchaseInfoText = members.purchaseInfo else {
            throw ReceiptError(.transactionReceiptMalformed)
        }
        signature = try TransactionReceiptSignature(signatureText, of: bytes.span)
        let purchaseInfo = try bytes.span.base64Decoded(in: purchaseInfoText, malformed: .purchaseInfoMalformed)
        content = [signature.version.rawValue] + purchaseInfo
        unsignedEnvironment = members.environment
        self.bytes = bytes
    }

    /// The one certificate that the receipt carries, in base64 or in DER: the same bytes are the same certificate.
    var certificates: SignerCertificates {
        @_lifetime(borrow self)
        get {
            switch signature.certificate {
            case .der(let range): SignerCertificates(signature.blob.span, at: [range], signer: .first)
            case .text(let range, _): SignerCertificates(bytes.span, at: [range], signer: .first)
            }
        }
    }

    /// Returns the signer's certificate in DER.
    func signerCertificate() throws(ReceiptError) -> [UInt8] {
        switch signature.certificate {
        case .der(let range): return Array(signature.blob[range])
        case .text(let range, let byteCount):
            let der = try bytes.span.base64Decoded(in: range, malformed: .transactionReceiptSignatureMalformed)
            guard der.count == byteCount else { throw ReceiptError(.transactionReceiptSignatureMalformed) }
            return der
        }
    }
}

/// The members of the outer property list that have a meaning here. None is signed by itself.
private struct Members {
    private(set) var signature: Range<Int>?
    private(set) var purchaseInfo: Range<Int>?
    private(set) var environment: Range<Int>?

    init(_ bytes: Span<UInt8>, limits: Limits) throws(ReceiptError) {
        var reader = try PropertyListReader(
            bytes, from: 0, malformed: .transactionReceiptMalformed,
            maximumMembers: limits.maximumTransactionReceiptFields)
        var names: [Range<Int>] = []
        while let member = try reader.next() {
            guard !names.contains(where: { bytes.equals($0, member.name) }) else {
                throw ReceiptError(.transactionReceiptMalformed, at: .offset(member.name.lowerBound))
            }
            names.append(member.name)
            let name = bytes.extracting(member.name)
            if name.equals("signature") {
                signature = member.value
            } else if name.equals("purchase-info") {
                purchaseInfo = member.value
            } else {
                try reader.checkText(member.value)
                if name.equals("environment") { environment = member.value }
            }
        }
    }
}
