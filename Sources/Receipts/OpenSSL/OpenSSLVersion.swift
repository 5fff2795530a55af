// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

extension ReceiptVerifier {
    /// The version that OpenSSL reports: `OpenSSL 3.0.17 1 Jul 2025`.
    public static var openSSLVersion: String {
        // SAFETY: OpenSSL returns a constant.
        unsafe OpenSSL_version(OPENSSL_VERSION).map { unsafe String(cString: $0) } ?? "OpenSSL"
    }
}
