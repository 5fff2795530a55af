// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// An algorithm, fetched once and kept: fetching it by name for each value costs a quarter of opening a small value.
///
/// SAFETY (@unchecked Sendable): OpenSSL does not change a fetched algorithm, and counts its users atomically.
@safe final class CipherAlgorithm: @unchecked Sendable {
    static let aes256GCM = CipherAlgorithm("AES-256-GCM")
    static let aes128CBC = CipherAlgorithm("AES-128-CBC")
    static let aes256CBC = CipherAlgorithm("AES-256-CBC")
    /// Nil if OpenSSL, as configured, does not offer it.
    let pointer: OpaquePointer?

    private init(_ name: String) {
        unsafe pointer = EVP_CIPHER_fetch(nil, name, nil)
        ERR_clear_error()
    }
}

/// The owner of an `EVP_CIPHER_CTX`.
@safe final class CipherContext {
    let pointer: OpaquePointer

    init() {
        guard let context = unsafe EVP_CIPHER_CTX_new() else { preconditionFailure("out of memory") }
        unsafe pointer = context
    }

    deinit { unsafe EVP_CIPHER_CTX_free(pointer) }
}

/// Random bytes of OpenSSL's generator, for keys and nonces.
package enum SecureRandom {
    /// True if the generator works; otherwise `bytes` traps.
    static var isOffered: Bool {
        var byte: UInt8 = 0
        return unsafe RAND_bytes(&byte, 1) == 1
    }

    package static func bytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        // RAND_bytes may return -1, too.
        precondition(unsafe RAND_bytes(&bytes, Int32(count)) == 1, "random numbers are checked at the start")
        return bytes
    }
}
