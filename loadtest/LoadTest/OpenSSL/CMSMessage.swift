// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// The owner of one `CMS_ContentInfo`: a receipt as OpenSSL reads it.
///
/// SAFETY: the pointer never leaves this file, what it lends is copied before a method returns, and `deinit` frees it
/// once.
@safe final class CMSMessage {
    private let pointer: OpaquePointer

    /// Reads a message in DER; nil if OpenSSL does not take it for one.
    init?(der: [UInt8]) {
        // SAFETY: the reader lives inside the closure, and with it the borrowed bytes.
        let decoded = unsafe der.withUnsafeBufferPointer { buffer in
            let reader = unsafe MemoryReader(borrowing: buffer)
            return unsafe d2i_CMS_bio(reader.pointer, nil)
        }
        guard let decoded = unsafe decoded else {
            ERR_clear_error()
            return nil
        }
        unsafe pointer = decoded
    }

    deinit {
        unsafe CMS_ContentInfo_free(pointer)
    }

    /// Verifies with `CMS_verify`: the signers' chains up to the store's root, and their signatures over the content.
    func isVerified(by store: RootStore) -> Bool {
        let status = unsafe CMS_verify(pointer, nil, store.pointer, nil, nil, UInt32(CMS_BINARY))
        if status != 1 { ERR_clear_error() }
        return status == 1
    }

    /// The bytes of `eContent`; nil if the content is detached.
    var content: [UInt8]? {
        guard let content = unsafe CMS_get0_content(pointer)?.pointee else { return nil }
        return unsafe Self.copy(content)
    }

    /// The signature of the first `SignerInfo`.
    var signature: [UInt8]? {
        guard let signer = unsafe OPENSSL_sk_value(CMS_get0_SignerInfos(pointer), 0),
            let signature = unsafe CMS_SignerInfo_get0_signature(OpaquePointer(signer))
        else { return nil }
        return unsafe Self.copy(signature)
    }

    private static func copy(_ bytes: UnsafeMutablePointer<ASN1_OCTET_STRING>) -> [UInt8] {
        unsafe Array(UnsafeBufferPointer(start: ASN1_STRING_get0_data(bytes), count: Int(ASN1_STRING_length(bytes))))
    }
}

/// The owner of one read-only memory `BIO`.
///
/// SAFETY: the BIO does not copy; the caller keeps the bytes alive as long. `deinit` frees the BIO once.
@safe final class MemoryReader {
    let pointer: OpaquePointer

    @unsafe init(borrowing bytes: UnsafeBufferPointer<UInt8>) {
        guard let reader = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else {
            preconditionFailure("OpenSSL is out of memory")
        }
        unsafe pointer = reader
    }

    deinit {
        unsafe BIO_free(pointer)
    }
}
