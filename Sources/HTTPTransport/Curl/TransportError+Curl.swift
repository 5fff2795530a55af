// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl

extension TransportError {
    /// Creates the error of a libcurl result; nil for success. Ignores libcurl's text, which may quote the URL.
    init?(_ code: CurlCode) {
        switch code {
        case CURLE_OK: return nil
        case CURLE_URL_MALFORMAT, CURLE_LOGIN_DENIED: self = .invalidURL
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY: self = .proxy
        case CURLE_COULDNT_RESOLVE_HOST: self = .resolve
        case CURLE_COULDNT_CONNECT: self = .connect
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER: self = .tlsHandshake
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
            self = .tlsVerification
        case CURLE_SSL_CACERT_BADFILE: self = .trustStore
        case CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_SEND_FAIL_REWIND,
            CURLE_HTTP2_STREAM:
            self = .reset
        case CURLE_FILESIZE_EXCEEDED: self = .tooLarge
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_HTTP2: self = .protocolViolation
        default: self = .internal(code: Int32(code.rawValue))
        }
    }
}
