// SPDX-License-Identifier: Apache-2.0

/// A parsed app receipt. Proves nothing: only a `ReceiptVerifier` turns it into a `VerifiedReceipt`.
public struct UnverifiedReceipt: Sendable, Confidential {
    let der: [UInt8]
    let container: SignedData
    /// The original bytes, if they were in Xcode's BER form.
    let ber: [UInt8]?
    var wasBER: Bool { ber != nil }

    /// Parses the container (PKCS #7 SignedData, RFC 5652) of a receipt in DER, after base64.
    ///
    /// - Throws: the first rule that the container's form breaks.
    public init(_ bytes: [UInt8], limits: Limits = Limits()) throws(ReceiptError) {
        self = try UnverifiedReceipt(bytes, acceptsBER: false, limits: limits)
    }

    /// Parses a receipt that may also be in Xcode's BER form.
    init(_ bytes: [UInt8], acceptsBER: Bool, limits: Limits) throws(ReceiptError) {
        guard bytes.count <= limits.maximumReceiptBytes else { throw ReceiptError(.receiptTooLarge) }
        let isBER = acceptsBER && BERNormalizer.recognizes(bytes.span)
        let der = isBER ? try BERNormalizer(maximumDepth: limits.maximumDepth).normalize(bytes.span) : bytes
        container = try SignedData(der.span, limits: limits)
        self.der = der
        ber = isBER ? bytes : nil
    }

    /// Contains no byte of the receipt.
    public var description: String { "UnverifiedReceipt(\(der.count) bytes)" }
}

/// A value whose description and reflection contain no byte of a receipt and no claim.
protocol Confidential: CustomStringConvertible, CustomReflectable {}

extension Confidential {
    /// The name of the type.
    public var description: String { "\(Self.self)" }

    /// Empty, as reflection would show the contents.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
