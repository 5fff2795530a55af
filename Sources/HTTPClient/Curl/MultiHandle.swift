// SPDX-License-Identifier: Apache-2.0

internal import CCurl

/// The owner of one `CURLM` handle: all transfers in flight, and the connections they share.
///
/// SAFETY (nonisolated(unsafe) handle): only the loop calls it. The handle is freed once; `events`, which libcurl calls back
/// into, outlives it.
@safe final class MultiHandle: Sendable {
    private nonisolated(unsafe) let handle: UnsafeMutableRawPointer
    let events: SocketEvents

    init(_ configuration: TransportConfiguration, _ events: SocketEvents) throws(TransportError) {
        guard Self.isInitialized, let handle = unsafe curl_multi_init() else { throw .internal(code: 0) }
        unsafe self.handle = handle
        self.events = events
        for (option, value) in [
            (CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX)),
            (CURLMOPT_MAX_HOST_CONNECTIONS, configuration.maximumConnectionsPerHost),
            // Of all hosts together: with fewer, busy hosts would close each other's idle connections.
            (CURLMOPT_MAXCONNECTS, configuration.maximumRequests),
        ] {
            try check(unsafe CCurl_multi_set_long(handle, option, value))
        }
        let context = unsafe Unmanaged.passUnretained(events).toOpaque()
        try check(unsafe CCurl_multi_set_socket_watcher(handle, watchSocket, context))
        try check(unsafe CCurl_multi_set_timer(handle, setTimer, context))
    }

    deinit { unsafe curl_multi_cleanup(handle) }

    /// Initializes libcurl once per process, before any other call.
    private static let isInitialized = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// Waits until a transfer can go on, `wakeUp` is called, or the time has passed, and does all work that needs no
    /// more waiting. Its cost depends on the sockets that are ready, and not on the transfers in flight, unless a
    /// transfer may be connecting. An error concerns all transfers.
    func perform(waitingAtMost duration: Duration) -> TransportError? {
        var failure: TransportError?
        events.wait(atMost: duration) { socket, bits in failure = act(on: socket, bits) ?? failure }
        if events.takeTimer() { failure = act(on: CURL_SOCKET_TIMEOUT, 0) ?? failure }
        if events.takeLook() { failure = error(unsafe CCurl_multi_act_on_all(handle)) ?? failure }
        return events.takeFailure() ? .internal(code: Int32(CURLM_INTERNAL_ERROR.rawValue)) : failure
    }

    private func act(on socket: curl_socket_t, _ bits: Int32) -> TransportError? {
        var running: Int32 = 0
        return error(unsafe curl_multi_socket_action(handle, socket, bits, &running))
    }

    /// Returns a finished transfer, each once.
    func nextFinished() -> (PendingRequest.ID, CurlCode)? {
        var remaining: Int32 = 0
        while let message = unsafe curl_multi_info_read(handle, &remaining) {
            guard unsafe message.pointee.msg == CURLMSG_DONE else { continue }
            let id = unsafe CCurl_get_pointer(message.pointee.easy_handle, CURLINFO_PRIVATE)
            return unsafe (UInt(bitPattern: id), CCurl_message_result(message))
        }
        return nil
    }

    func add(_ easy: EasyHandle) throws(TransportError) {
        try check(unsafe easy.withHandle { unsafe curl_multi_add_handle(handle, $0) })
    }

    /// Removes a transfer. An unfinished transfer loses its connection, or its stream with HTTP/2.
    func remove(_ easy: EasyHandle) {
        _ = unsafe easy.withHandle { unsafe curl_multi_remove_handle(handle, $0) }
    }

    private func check(_ code: CURLMcode) throws(TransportError) {
        if let error = error(code) { throw error }
    }

    private func error(_ code: CURLMcode) -> TransportError? {
        code == CURLM_OK ? nil : .internal(code: Int32(code.rawValue))
    }
}

// MARK: - Callbacks of libcurl

private func watchSocket(
    _ easy: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _ wish: Int32, _ context: UnsafeMutableRawPointer?,
    _ socketContext: UnsafeMutableRawPointer?
) -> Int32 {
    guard let events = unsafe borrowedEvents(context) else { return -1 }
    if wish == CURL_POLL_REMOVE {
        events.forget(socket)
    } else if wish & CURL_POLL_INOUT != 0 {
        events.watch(socket, toRead: wish & CURL_POLL_IN != 0, toWrite: wish & CURL_POLL_OUT != 0)
    }
    return 0
}

private func setTimer(
    _ multi: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let events = unsafe borrowedEvents(context) else { return -1 }
    events.set(timer: milliseconds < 0 ? nil : .milliseconds(milliseconds))
    return 0
}

/// SAFETY: the context is the events of a multi handle, which live longer than it.
private func borrowedEvents(_ context: UnsafeMutableRawPointer?) -> SocketEvents? {
    unsafe context.map { unsafe Unmanaged<SocketEvents>.fromOpaque($0).takeUnretainedValue() }
}

extension Duration {
    /// Whole milliseconds, rounded up so that no wait ends too early, between 0 and libcurl's maximum.
    var milliseconds: Int32 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < Int64(Int32.max) / 1000 else { return .max }
        return Int32(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
