// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import ReceiptForge

/// An independent verifier that shares no code with the forge: OpenSSL's own CMS verification.
@safe struct OpenSSLVerifier {
    let root: IssuedCertificate
    /// The time at which certificates must be valid.
    let moment: UTCDate

    /// Returns the signed content, or nil if OpenSSL rejects the receipt.
    func signedContent(of receipt: [UInt8]) -> [UInt8]? {
        guard let container = unsafe decodeContainer(receipt), let store = unsafe makeStore() else { return nil }
        defer {
            unsafe CMS_ContentInfo_free(container)
            unsafe X509_STORE_free(store)
        }
        guard let output = unsafe BIO_new(BIO_s_mem()) else { return nil }
        defer { unsafe BIO_free(output) }
        let status = unsafe CMS_verify(container, nil, store, nil, output, UInt32(CMS_BINARY))
        return status == 1 ? unsafe readAll(output) : nil
    }

    private func decodeContainer(_ receipt: [UInt8]) -> OpaquePointer? {
        unsafe receipt.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return unsafe d2i_CMS_ContentInfo(nil, &start, buffer.count)
        }
    }

    /// Returns a certificate that the caller frees; nil if OpenSSL cannot read it.
    static func decodeCertificate(_ der: [UInt8]) -> OpaquePointer? {
        unsafe der.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return unsafe d2i_X509(nil, &start, buffer.count)
        }
    }

    private func makeStore() -> OpaquePointer? {
        guard let certificate = unsafe Self.decodeCertificate(root.der), let store = unsafe X509_STORE_new() else {
            return nil
        }
        defer { unsafe X509_free(certificate) }
        let parameters = unsafe X509_STORE_get0_param(store)
        unsafe X509_VERIFY_PARAM_set_time(parameters, Int(moment.secondsSince1970))
        unsafe X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_ANY)
        unsafe X509_STORE_add_cert(store, certificate)
        return unsafe store
    }

    private func readAll(_ source: OpaquePointer) -> [UInt8] {
        var content: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while case let count = unsafe BIO_read(source, &chunk, Int32(chunk.count)), count > 0 {
            content += chunk.prefix(Int(count))
        }
        return content
    }
}
