// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// The digests of receipts' signatures. Apple used SHA-1 until January 2024 and uses SHA-256 now, and SHA-384 for the
/// certificates of transactions; MD5 exists to be rejected.
package enum SigningDigest: String, Sendable, Hashable, CaseIterable {
    /// 128 bits, broken.
    case md5
    /// 160 bits; in every receipt issued before August 2023.
    case sha1
    case sha256
    case sha384

    var objectIdentifier: OID { identifiers.digest }

    /// The algorithm of RSA signatures over this digest (RFC 8017 appendix A.2.4).
    var withRSAEncryption: OID { identifiers.signature }

    private var identifiers: (digest: OID, signature: OID) {
        switch self {
        case .md5: (.md5, .md5WithRSAEncryption)
        case .sha1: (.sha1, .sha1WithRSAEncryption)
        case .sha256: (.sha256, .sha256WithRSAEncryption)
        case .sha384: (.sha384, .sha384WithRSAEncryption)
        }
    }

    package func hash(_ message: [UInt8]) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        // Safe: OpenSSL writes at most EVP_MAX_MD_SIZE bytes and reads exactly `message.count`.
        let status = unsafe EVP_Digest(message, message.count, &output, &count, evp, nil)
        precondition(status == 1, "OpenSSL rejected digest \(rawValue)")
        return Array(output.prefix(Int(count)))
    }

    /// OpenSSL's constant for this algorithm; static, never freed.
    var evp: OpaquePointer? { unsafe EVP_get_digestbyname(rawValue) }
}
