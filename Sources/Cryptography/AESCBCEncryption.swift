// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// Encryption with AES in CBC mode (NIST SP 800-38A) and PKCS #7 padding (RFC 5652 §6.3).
///
/// There is no decryption, on purpose. CBC without a MAC does not detect changed bytes, so a program that
/// decrypts input of other programs becomes a padding oracle.
public struct AESCBCEncryption: Hashable, Sendable, CustomReflectable {
    private let key: [UInt8]
    /// Empty, so that no dump shows the key.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// The lengths of keys in bytes: of AES-128 and of AES-256.
    public static let keyByteCounts = [16, 32]
    private static let blockByteCount = 16

    /// Creates an encryption whose key has 16 or 32 bytes; nil for another length.
    public init?(key: [UInt8]) {
        guard Self.keyByteCounts.contains(key.count) else { return nil }
        self.key = key
    }

    /// True if OpenSSL, as configured, offers both ciphers and random numbers. Without them, encrypting traps.
    public static var isOffered: Bool {
        unsafe CipherAlgorithm.aes128CBC.pointer != nil && CipherAlgorithm.aes256CBC.pointer != nil
            && SecureRandom.isOffered
    }

    /// Returns a fresh random initialization vector of 16 bytes, and the ciphertext.
    public func encrypt(_ text: Span<UInt8>) -> [UInt8] {
        encrypt(text, SecureRandom.bytes(Self.blockByteCount))
    }

    /// Returns the vector, and the ciphertext: 1 to 16 bytes longer than the text.
    /// - Parameter vector: 16 bytes that are never used again with this key.
    func encrypt(_ text: Span<UInt8>, _ vector: [UInt8]) -> [UInt8] {
        precondition(vector.count == Self.blockByteCount)
        let algorithm = key.count == 16 ? CipherAlgorithm.aes128CBC : CipherAlgorithm.aes256CBC
        let cipher = CipherContext()
        let capacity = 2 * Self.blockByteCount + text.count
        return unsafe [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
            // SAFETY: the vector takes one block of the output. OpenSSL writes the text's length and up to one block.
            _ = unsafe output.initialize(fromContentsOf: vector)
            var start = unsafe output.baseAddress.map { unsafe $0 + vector.count }
            var (whole, last): (Int32, Int32) = (0, 0)
            var status = unsafe EVP_EncryptInit_ex(cipher.pointer, algorithm.pointer, nil, key, vector)
            status &= unsafe text.withUnsafeBufferPointer { text in
                unsafe EVP_EncryptUpdate(cipher.pointer, start, &whole, text.baseAddress, Int32(text.count))
            }
            unsafe start = start.map { unsafe $0 + Int(whole) }
            status &= unsafe EVP_EncryptFinal_ex(cipher.pointer, start, &last)
            precondition(status == 1, "AES-CBC encrypts any bytes under a key of its length")
            count = vector.count + Int(whole + last)
        }
    }
}
