// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL
internal import Synchronization

/// A reusable `EVP_MD_CTX` for one digest, and the DigestInfo (RFC 8017 §9.2) it writes its digests into.
///
/// Algorithm and context are made once: in OpenSSL 3 that costs more than hashing a small receipt.
///
/// SAFETY (@unchecked Sendable): reachable only through a `Pool`, so one caller at a time has it.
@safe final class DigestContext: @unchecked Sendable {
    private let context: OpaquePointer
    private let algorithm: OpaquePointer
    private let digestInfo: UnsafeMutableBufferPointer<UInt8>
    private let headerCount: Int

    /// Traps if OpenSSL does not offer the digest; `ReceiptVerifier.checkOpenSSL` checks that beforehand.
    init(_ digest: DigestAlgorithm) {
        guard let algorithm = unsafe EVP_MD_fetch(nil, digest.rawValue, nil), let context = unsafe EVP_MD_CTX_new()
        else { preconditionFailure("OpenSSL does not offer \(digest.rawValue)") }
        unsafe self.algorithm = algorithm
        unsafe self.context = context
        let blank = digest.digestInfoHeader + [UInt8](repeating: 0, count: digest.byteCount)
        headerCount = digest.digestInfoHeader.count
        unsafe digestInfo = .allocate(capacity: blank.count)
        _ = unsafe digestInfo.initialize(fromContentsOf: blank)
    }

    deinit {
        unsafe EVP_MD_CTX_free(context)
        unsafe EVP_MD_free(algorithm)
        unsafe digestInfo.deallocate()
    }

    @inline(__always)
    func withDigest<Value>(of bytes: Span<UInt8>, _ body: (Span<UInt8>) -> Value) -> Value {
        withDigestInfo(of: bytes) { body($0.extracting(droppingFirst: headerCount)) }
    }

    /// Passes the DigestInfo of these bytes to `body`: the digest's name and the digest, as a signature covers them.
    @inline(__always)
    func withDigestInfo<Value>(of bytes: Span<UInt8>, _ body: (Span<UInt8>) -> Value) -> Value {
        let status = unsafe bytes.withUnsafeBytes { buffer in
            // SAFETY: the digest's bytes follow the header's in `digestInfo`, which was allocated for both.
            unsafe EVP_DigestInit_ex(context, algorithm, nil)
                & EVP_DigestUpdate(context, buffer.baseAddress, buffer.count)
                & EVP_DigestFinal_ex(context, digestInfo.baseAddress.map { unsafe $0 + headerCount }, nil)
        }
        precondition(status == 1, "a fetched digest cannot fail on bytes in memory")
        return unsafe body(digestInfo.span)
    }
}

extension DigestAlgorithm {
    var byteCount: Int {
        switch self {
        case .sha1: 20
        case .sha256: 32
        case .sha384: 48
        }
    }

    /// The bytes before the digest in its DigestInfo (RFC 8017 §9.2, note 1).
    var digestInfoHeader: [UInt8] {
        switch self {
        case .sha1: [0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2B, 0x0E, 0x03, 0x02, 0x1A, 0x05, 0x00, 0x04, 0x14]
        case .sha256:
            [
                0x30, 0x31, 0x30, 0x0D, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00,
                0x04, 0x20,
            ]
        case .sha384:
            [
                0x30, 0x41, 0x30, 0x0D, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02, 0x05, 0x00,
                0x04, 0x30,
            ]
        }
    }

    var isOffered: Bool {
        guard let algorithm = unsafe EVP_MD_fetch(nil, rawValue, nil) else {
            ERR_clear_error()
            return false
        }
        unsafe EVP_MD_free(algorithm)
        return true
    }
}

/// A pool of reusable objects, each lent to one borrower at a time.
///
/// It never holds more than were lent at once, which is the number of threads that verify.
final class Pool<Element: Sendable>: Sendable {
    private let idle = Mutex<[Element]>([])

    /// Lends an idle object, or a new object if all are lent.
    @inline(__always)
    func lend<Value>(orMake make: @autoclosure () -> Element, _ body: (Element) -> Value) -> Value {
        let element = idle.withLock { $0.popLast() } ?? make()
        defer { idle.withLock { $0.append(element) } }
        return body(element)
    }
}
