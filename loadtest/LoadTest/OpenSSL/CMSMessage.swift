// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// The owner of one `CMS_ContentInfo`: a receipt as OpenSSL reads it.
///
/// SAFETY: the pointer stays in this file, what it lends is copied before a method returns, `deinit` frees it once.
@safe final class CMSMessage {
    private let pointer: OpaquePointer

    /// Reads a message in DER; nil if OpenSSL does not accept it.
    init?(der: [UInt8]) {
        let decoded = unsafe der.withUnsafeBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return unsafe d2i_CMS_ContentInfo(nil, &cursor, buffer.count)
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

/// The owner of one `X509`.
///
/// SAFETY: the pointer is used in this folder only, no longer than its owner lives, and `deinit` frees it once.
@safe final class X509Certificate {
    let pointer: OpaquePointer

    /// Reads a certificate in DER; nil if OpenSSL does not accept it.
    init?(der: [UInt8]) {
        let decoded = unsafe der.withUnsafeBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return unsafe d2i_X509(nil, &cursor, buffer.count)
        }
        guard let decoded = unsafe decoded else { return nil }
        unsafe pointer = decoded
    }

    deinit {
        unsafe X509_free(pointer)
    }
}

/// The owner of one `X509_STORE` that trusts one root, at one moment, for any purpose.
///
/// SAFETY (@unchecked Sendable): the store is not changed after it is made, and OpenSSL guards look-ups in it with a
/// lock of its own. The pointer is used in this folder only and `deinit` frees it once.
@safe final class RootStore: @unchecked Sendable {
    let pointer: OpaquePointer

    /// - Parameter moment: when certificates must be valid, in seconds since 1970-01-01T00:00:00Z.
    init(trusting root: X509Certificate, at moment: Int) {
        guard let store = unsafe X509_STORE_new(), unsafe X509_STORE_add_cert(store, root.pointer) == 1 else {
            preconditionFailure("OpenSSL is out of memory")
        }
        let parameters = unsafe X509_STORE_get0_param(store)
        unsafe X509_VERIFY_PARAM_set_time(parameters, moment)
        // CMS_verify asks for the purpose S/MIME unless told otherwise; receipts are signed for no mail.
        unsafe X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_ANY)
        unsafe pointer = store
    }

    deinit {
        unsafe X509_STORE_free(pointer)
    }
}
