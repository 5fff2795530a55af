// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import FoundationEssentials
import ReceiptForge

/// An independent verifier of ES256 that shares no code with the forge: Foundation for the text, OpenSSL for the keys.
@safe enum OpenSSLJWSVerifier {
    private struct Header: Decodable {
        let alg: String
        let x5c: [Data]
    }

    /// Returns the payload if each certificate signed the one before it, the last one is `root`, and the first one's key
    /// signed header and payload. Nil otherwise.
    static func payload(of jws: [UInt8], root: IssuedCertificate) -> [UInt8]? {
        let parts = String(decoding: jws, as: UTF8.self).split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let json = Data(base64URL: parts[0]), let payload = Data(base64URL: parts[1]),
            let signature = Data(base64URL: parts[2]), signature.count == 64,
            let header = try? JSONDecoder().decode(Header.self, from: json), header.alg == "ES256",
            header.x5c.last == Data(root.der), let leaf = header.x5c.first
        else { return nil }
        let links = zip(header.x5c, header.x5c.dropFirst() + [Data(root.der)])
        guard links.allSatisfy({ isSigned(Array($0), by: Array($1)) }) else { return nil }
        let message = Array("\(parts[0]).\(parts[1])".utf8)
        return verifies(Array(signature), over: message, Array(leaf)) ? Array(payload) : nil
    }

    private static func isSigned(_ certificate: [UInt8], by issuer: [UInt8]) -> Bool {
        unsafe withCertificate(certificate) { certificate in
            unsafe withKey(ofCertificate: issuer) { unsafe X509_verify(certificate, $0) == 1 }
        }
    }

    private static func verifies(_ signature: [UInt8], over message: [UInt8], _ leaf: [UInt8]) -> Bool {
        let der = derSignature(signature)
        return unsafe withKey(ofCertificate: leaf) { key in
            let context = unsafe EVP_MD_CTX_new()
            defer { unsafe EVP_MD_CTX_free(context) }
            return unsafe EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
                && EVP_DigestVerify(context, der, der.count, message, message.count) == 1
        }
    }

    private static func withKey(ofCertificate der: [UInt8], _ body: (OpaquePointer) -> Bool) -> Bool {
        unsafe withCertificate(der) { certificate in
            guard let key = unsafe X509_get_pubkey(certificate) else { return false }
            defer { unsafe EVP_PKEY_free(key) }
            return unsafe body(key)
        }
    }

    private static func withCertificate(_ der: [UInt8], _ body: (OpaquePointer) -> Bool) -> Bool {
        guard let certificate = unsafe OpenSSLVerifier.decodeCertificate(der) else { return false }
        defer { unsafe X509_free(certificate) }
        return unsafe body(certificate)
    }

    /// `ECDSA-Sig-Value ::= SEQUENCE { r INTEGER, s INTEGER }` (RFC 3279 §2.2.3), each number below 2^256.
    private static func derSignature(_ signature: [UInt8]) -> [UInt8] {
        let numbers = [signature[..<32], signature[32...]].flatMap { half -> [UInt8] in
            let digits = Array(half.drop { $0 == 0 })
            let number = digits.first.map { $0 >= 0x80 } ?? true ? [0] + digits : digits
            return [0x02, UInt8(number.count)] + number
        }
        return [0x30, UInt8(numbers.count)] + numbers
    }
}

extension Data {
    /// Base64url without padding (RFC 7515 §2).
    fileprivate init?(base64URL text: Substring) {
        let standard = text.replacing("-", with: "+").replacing("_", with: "/")
        self.init(base64Encoded: standard + String(repeating: "=", count: (4 - standard.count % 4) % 4))
    }
}
