// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// A hash function of FIPS 180-4.
package enum HashFunction: Sendable {
    /// For names that another program prescribes. It withstands no attack on collisions.
    case sha1
    case sha256

    /// Returns the digest, 20 or 32 bytes.
    package func digest(of bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: byteCount)
        // SAFETY: OpenSSL writes as many bytes as the function's digest has.
        let status = unsafe EVP_Digest(bytes, bytes.count, &digest, nil, algorithm, nil)
        precondition(status == 1, "OpenSSL offers \(self), as is checked at the start")
        return digest
    }

    /// True if OpenSSL, as configured, offers the function. Without it, digests and HMAC trap.
    public var isOffered: Bool {
        var digest = [UInt8](repeating: 0, count: byteCount)
        // SAFETY: as above.
        defer { ERR_clear_error() }
        return unsafe EVP_Digest(nil, 0, &digest, nil, algorithm, nil) == 1
    }

    private var byteCount: Int {
        switch self {
        case .sha1: 20
        case .sha256: 32
        }
    }

    private var algorithm: OpaquePointer? {
        switch self {
        case .sha1: unsafe EVP_sha1()
        case .sha256: unsafe EVP_sha256()
        }
    }
}
