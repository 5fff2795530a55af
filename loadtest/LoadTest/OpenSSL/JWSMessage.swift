// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL
internal import JSON
internal import Receipts

/// A JWS in compact serialization, verified as Apple's libraries do: the certificates are read from its header, and
/// their chain is verified each time.
struct JWSMessage {
    /// The certificates of `x5c` in DER, the signer's first.
    private let certificates: [[UInt8]]
    private let payload: [UInt8]
    /// The signed text.
    let content: [UInt8]
    /// `ECDSA-Sig-Value` in DER.
    let signature: [UInt8]

    init?(text: [UInt8]) {
        let dot = UInt8(ascii: ".")
        guard let first = text.firstIndex(of: dot), let last = text.lastIndex(of: dot), first < last,
            let header = Base64URLDecoder.decode(text.span.extracting(0..<first)),
            let payload = Base64URLDecoder.decode(text.span.extracting((first + 1)..<last)),
            let numbers = Base64URLDecoder.decode(text.span.extracting((last + 1)..<text.count)), numbers.count == 64,
            let chain = (try? JSONValue(parsing: header))?["x5c"]?.elements
        else { return nil }
        certificates = chain.compactMap { $0.string.flatMap { try? Base64.decode($0) } }
        self.payload = payload
        content = Array(text[..<last])
        signature = Self.sequence(numbers.prefix(32), numbers.suffix(32))
    }

    /// Returns the JWS of a notification and each JWS in its `data`; nil if a text is no JWS.
    static func notification(_ text: [UInt8]) -> [JWSMessage]? {
        guard let message = JWSMessage(text: text), let data = (try? JSONValue(parsing: message.payload))?["data"]
        else { return nil }
        let texts = ["signedTransactionInfo", "signedRenewalInfo"].compactMap { data[$0]?.string }
        let nested = texts.compactMap { JWSMessage(text: Array($0.utf8)) }
        return nested.count == texts.count ? [message] + nested : nil
    }

    /// Verifies three signatures: the root's, the intermediate's and the signer's.
    func isVerified(by store: RootStore) -> Bool {
        let chain = certificates.compactMap { X509Certificate(der: $0) }
        guard chain.count == 3, store.verifies(chain[0], below: chain[1]), let key = SignerKey(of: chain[0]) else {
            return false
        }
        return key.verifies(signature, over: content)
    }

    /// `ECDSA-Sig-Value ::= SEQUENCE { r INTEGER, s INTEGER }` (RFC 3279 §2.2.3).
    private static func sequence(_ numbers: ArraySlice<UInt8>...) -> [UInt8] {
        let integers = numbers.flatMap { number -> [UInt8] in
            let magnitude = number.drop { $0 == 0 }
            let bytes = magnitude.first.map { $0 < 0x80 } ?? false ? Array(magnitude) : [0] + magnitude
            return [0x02, UInt8(bytes.count)] + bytes
        }
        return [0x30, UInt8(integers.count)] + integers
    }
}

extension RootStore {
    /// Verifies the chain from a signer's certificate over one intermediate to the store's root.
    fileprivate func verifies(_ leaf: X509Certificate, below intermediate: X509Certificate) -> Bool {
        guard let context = unsafe X509_STORE_CTX_new(), let others = unsafe OPENSSL_sk_new_null() else {
            preconditionFailure("OpenSSL is out of memory")
        }
        // The list borrows the certificate; both are freed before this method returns.
        defer {
            unsafe X509_STORE_CTX_free(context)
            unsafe OPENSSL_sk_free(others)
        }
        guard unsafe OPENSSL_sk_push(others, UnsafeRawPointer(intermediate.pointer)) == 1,
            unsafe X509_STORE_CTX_init(context, pointer, leaf.pointer, others) == 1,
            unsafe X509_verify_cert(context) == 1
        else {
            ERR_clear_error()
            return false
        }
        return true
    }
}
