// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// An app receipt that has the form of one. Says nothing: only a `ReceiptVerifier` turns it into a `VerifiedReceipt`.
public struct UnverifiedReceipt: Sendable {
    /// The receipt in DER.
    let der: [UInt8]
    let container: SignedData
    /// The receipt in Xcode's BER form; nil if it came in DER.
    let ber: [UInt8]?
    /// Whether the receipt came in Xcode's BER form.
    var wasBER: Bool { ber != nil }

    /// Reads the container (PKCS #7 SignedData, RFC 5652) of a receipt after base64.
    ///
    /// - Parameters:
    ///   - bytes: the receipt, in DER.
    ///   - limits: what one receipt may ask for.
    /// - Throws: the first rule that the container's form breaks.
    public init(_ bytes: [UInt8], limits: Limits = Limits()) throws(ReceiptError) {
        self = try UnverifiedReceipt(bytes, acceptsBER: false, limits: limits)
    }

    /// Reads a receipt that may also have Xcode's BER form.
    init(_ bytes: [UInt8], acceptsBER: Bool, limits: Limits) throws(ReceiptError) {
        guard bytes.count <= limits.maximumReceiptBytes else { throw ReceiptError(.receiptTooLarge) }
        let isBER = acceptsBER && BERNormalizer.recognizes(bytes.span)
        let der = isBER ? try BERNormalizer(maximumDepth: limits.maximumDepth).normalize(bytes.span) : bytes
        container = try SignedData(der.span, limits: limits)
        self.der = der
        ber = isBER ? bytes : nil
    }
}

extension UnverifiedReceipt: CustomStringConvertible, CustomReflectable {
    /// No byte of the receipt, so that printing one gives nothing away.
    public var description: String { "UnverifiedReceipt(\(der.count) bytes)" }

    /// Empty, for the same reason.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
