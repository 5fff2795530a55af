// SPDX-License-Identifier: Apache-2.0

internal import CCurl

typealias CurlCode = CURLcode

/// One transfer of libcurl: the owner of one `CURL` handle and of everything that it points to.
///
/// SAFETY: libcurl calls back into this object only from `MultiHandle.perform` and `remove`, while the loop holds it;
/// the handle is freed once, after it was removed from its multi handle.
@safe final class EasyHandle {
    private let handle: UnsafeMutableRawPointer
    private let headers: StringList
    private let addresses: StringList
    fileprivate let events: SocketEvents
    private let slot: RequestSlot
    fileprivate var collector: ResponseCollector
    private let usesProxy: Bool
    fileprivate let allowsPrivateAddresses: Bool
    fileprivate var hasMetForbiddenAddress = false

    init(
        for pending: PendingRequest, _ configuration: TransportConfiguration, _ events: SocketEvents
    ) throws(TransportError) {
        self.events = events
        slot = pending.slot
        collector = ResponseCollector(
            maximumHeaderBytes: configuration.maximumHeaderBytes, maximumBodyBytes: configuration.maximumResponseBytes)
        usesProxy = configuration.proxy != nil
        allowsPrivateAddresses = configuration.allowsPrivateAddresses || usesProxy
        headers = try StringList(pending.request.headerLines)
        addresses = try StringList(configuration.addresses)
        // Last: if a later statement throws, `deinit` runs.
        guard let handle = unsafe curl_easy_init() else { throw .internal(code: 0) }
        unsafe self.handle = handle
        try setCallbacks()
        try setRules(configuration)
        try set(pending.request, sharesNewConnections: configuration.sharesNewConnections)
        unsafe try check(CCurl_set_pointer(handle, CURLOPT_PRIVATE, UnsafeMutableRawPointer(bitPattern: pending.id)))
    }

    deinit { unsafe curl_easy_cleanup(handle) }

    func withHandle<Value>(_ body: (UnsafeMutableRawPointer) -> Value) -> Value {
        unsafe body(handle)
    }

    // MARK: - Options

    private func setCallbacks() throws(TransportError) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe try check(CCurl_set_receiver(handle, CURLOPT_HEADERFUNCTION, receiveHeader))
        unsafe try check(CCurl_set_pointer(handle, CURLOPT_HEADERDATA, context))
        unsafe try check(CCurl_set_receiver(handle, CURLOPT_WRITEFUNCTION, receiveBody))
        unsafe try check(CCurl_set_pointer(handle, CURLOPT_WRITEDATA, context))
        unsafe try check(CCurl_set_socket_opener(handle, openSocket))
        unsafe try check(CCurl_set_pointer(handle, CURLOPT_OPENSOCKETDATA, context))
    }

    private func setRules(_ configuration: TransportConfiguration) throws(TransportError) {
        try set(CURLOPT_NOSIGNAL, 1)
        try set(CURLOPT_PROTOCOLS_STR, configuration.allowsPlainHTTP ? "http,https" : "https")
        try set(CURLOPT_REDIR_PROTOCOLS_STR, "https")
        try set(CURLOPT_FOLLOWLOCATION, 0)
        try set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        try setTLS(configuration)
        try setTimes(configuration)
        try setProxy(configuration.proxy)
        unsafe try check(addresses.withList { unsafe CCurl_set_list(handle, CURLOPT_RESOLVE, $0) })
        unsafe try check(
            CCurl_set_size(handle, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(configuration.maximumResponseBytes)))
    }

    private func setTLS(_ configuration: TransportConfiguration) throws(TransportError) {
        try set(CURLOPT_SSL_VERIFYPEER, configuration.acceptsAnyCertificate ? 0 : 1)
        try set(CURLOPT_SSL_VERIFYHOST, configuration.acceptsAnyCertificate ? 0 : 2)
        try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        // libcurl caches the authorities for all connections only if no folder of them is set.
        try set(CURLOPT_CAPATH, nil)
        if let caFile = configuration.caFile { try set(CURLOPT_CAINFO, caFile) }
        try set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
    }

    private func setTimes(_ configuration: TransportConfiguration) throws(TransportError) {
        // libcurl takes 0 for its default of five minutes.
        try set(CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(configuration.connectTimeout.milliseconds)))
        try set(CURLOPT_MAXLIFETIME_CONN, Int(configuration.maximumConnectionAge.components.seconds))
        // Otherwise a cancelled name resolution blocks the loop until the resolver returns.
        try set(CURLOPT_QUICK_EXIT, 1)
    }

    /// An empty string, unlike nil, also keeps libcurl from reading the environment.
    private func setProxy(_ proxy: String?) throws(TransportError) {
        try set(CURLOPT_PROXY, proxy ?? "")
        try set(CURLOPT_NOPROXY, "")
        try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    }

    private func set(_ request: CheckedRequest, sharesNewConnections: Bool) throws(TransportError) {
        try set(CURLOPT_URL, request.url)
        // With TLS the handshake decides if a connection can be shared (ALPN); without it, only the first answer would.
        try set(CURLOPT_PIPEWAIT, request.isSecure && sharesNewConnections ? 1 : 0)
        unsafe try check(headers.withList { unsafe CCurl_set_list(handle, CURLOPT_HTTPHEADER, $0) })
        if !request.isRepeatable { try set(CURLOPT_FRESH_CONNECT, 1) }
        guard request.method != .get else { return }
        try set(CURLOPT_POST, 1)
        // libcurl's own PUT reads the body by a callback.
        if request.method != .post { try set(CURLOPT_CUSTOMREQUEST, request.method.rawValue) }
        // The size first: it limits libcurl's copy. With the copy, no pointer of ours is kept.
        unsafe try check(CCurl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body.count)))
        let code = unsafe request.body.withUnsafeBytes { bytes in
            unsafe CCurl_set_pointer(
                handle, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: bytes.baseAddress))
        }
        try check(code)
    }

    private func set(_ option: CURLoption, _ value: Int) throws(TransportError) {
        unsafe try check(CCurl_set_long(handle, option, value))
    }

    private func set(_ option: CURLoption, _ value: String?) throws(TransportError) {
        unsafe try check(CCurl_set_text(handle, option, value))
    }

    /// Throws for any option that this libcurl does not know: every option matters.
    private func check(_ code: CURLcode) throws(TransportError) {
        if code != CURLE_OK { throw .internal(code: Int32(code.rawValue)) }
    }

    // MARK: - Results

    func outcome(_ code: CurlCode) -> Result<TransportResponse, TransportError> {
        error(code).map { .failure($0) } ?? .success(response)
    }

    private var response: TransportResponse {
        unsafe TransportResponse(
            status: collector.status, headers: collector.fields, body: collector.body,
            httpVersion: httpVersion, connectionWasReused: CCurl_get_long(handle, CURLINFO_NUM_CONNECTS) == 0,
            took: time(CURLINFO_TOTAL_TIME_T), retryAfter: retryAfter)
    }

    /// libcurl reads seconds and dates, and gives 0 for other values. A date in the past is a negative number.
    private var retryAfter: Duration? {
        let seconds = unsafe CCurl_get_size(handle, CURLINFO_RETRY_AFTER)
        return seconds > 0 ? .seconds(seconds) : nil
    }

    private func error(_ code: CurlCode) -> TransportError? {
        if let failure = collector.failure { return failure }
        if code == CURLE_OPERATION_TIMEDOUT { return .timeout(wasConnected ? .answering : .connecting) }
        if code == CURLE_COULDNT_CONNECT, hasMetForbiddenAddress { return .forbiddenAddress }
        if code == CURLE_COULDNT_CONNECT, usesProxy { return .proxy }
        if code != CURLE_OK, wasRefusedByProxy { return .proxy }
        return TransportError(code) ?? (collector.hasWholeHeader ? nil : .reset)
    }

    var wasConnected: Bool { time(CURLINFO_PRETRANSFER_TIME_T) > .zero }

    private var wasRefusedByProxy: Bool {
        let status = unsafe CCurl_get_long(handle, CURLINFO_HTTP_CONNECTCODE)
        return status != 0 && !(200..<300).contains(status)
    }

    private var httpVersion: TransportResponse.HTTPVersion {
        switch unsafe CCurl_get_long(handle, CURLINFO_HTTP_VERSION) {
        case Int(CURL_HTTP_VERSION_1_0): .http1_0
        case Int(CURL_HTTP_VERSION_2_0): .http2
        default: .http1_1
        }
    }

    private func time(_ wanted: CURLINFO) -> Duration {
        .microseconds(unsafe CCurl_get_size(handle, wanted))
    }

    /// SAFETY: `setCallbacks` set the context to the object itself, which lives as long as its handle.
    fileprivate static func borrowed(_ context: UnsafeMutableRawPointer?) -> EasyHandle? {
        unsafe context.map { unsafe Unmanaged<EasyHandle>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// The owner of one `curl_slist`.
///
/// SAFETY: libcurl copies each line; the list is freed once, with its owner, which the handle that points to it keeps.
@safe final class StringList {
    private var list: UnsafeMutablePointer<curl_slist>?

    init(_ lines: [String]) throws(TransportError) {
        for line in lines {
            guard let longer = unsafe curl_slist_append(list, line) else { throw .internal(code: 0) }
            unsafe list = longer
        }
    }

    deinit { unsafe curl_slist_free_all(list) }

    func withList<Value>(_ body: (UnsafeMutablePointer<curl_slist>?) -> Value) -> Value {
        unsafe body(list)
    }
}

// MARK: - Callbacks of libcurl

/// Any return value other than the given number of bytes ends the transfer.
private func receiveHeader(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    unsafe receive(bytes, count: size * count, context) { $0.collector.receive(line: $1) }
}

private func receiveBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    unsafe receive(bytes, count: size * count, context) { $0.collector.receive(body: $1) }
}

private func receive(
    _ bytes: UnsafeMutablePointer<CChar>?, count: Int, _ context: UnsafeMutableRawPointer?,
    _ body: (EasyHandle, Span<UInt8>) -> Bool
) -> Int {
    guard let easy = unsafe EasyHandle.borrowed(context) else { return 0 }
    // SAFETY: libcurl owns `count` bytes there until the callback returns, and the span does not outlive it.
    let piece = unsafe UnsafeRawBufferPointer(start: bytes, count: count).bindMemory(to: UInt8.self)
    return unsafe body(easy, piece.span) ? count : -1
}

private func openSocket(
    _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let easy = unsafe EasyHandle.borrowed(context), let address = unsafe address else { return CURL_SOCKET_BAD }
    easy.events.beginConnecting()
    if !easy.allowsPrivateAddresses, unsafe !SocketAddress.isGloballyReachable(address) {
        easy.hasMetForbiddenAddress = true
        return CURL_SOCKET_BAD
    }
    return unsafe SocketAddress.openSocket(for: address)
}

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
