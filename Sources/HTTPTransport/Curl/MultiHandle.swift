// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl

/// The owner of one `CURLM` handle: all transfers in flight, and the connections they share.
///
/// SAFETY (nonisolated(unsafe) handle): `wakeUp` may be called from any thread, by curl_multi_wakeup(3); only the loop
/// calls everything else. The handle is freed once, after both.
@safe final class MultiHandle: Sendable {
    private nonisolated(unsafe) let handle: UnsafeMutableRawPointer

    init(_ configuration: TransportConfiguration) throws(TransportError) {
        guard Self.isInitialized, let handle = unsafe curl_multi_init() else { throw .internal(code: 0) }
        unsafe self.handle = handle
        let connections = configuration.maximumConnectionsPerHost
        for (option, value) in [
            (CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX)), (CURLMOPT_MAX_HOST_CONNECTIONS, connections),
            (CURLMOPT_MAXCONNECTS, connections),
        ] {
            guard unsafe CCurl_multi_set_long(handle, option, value) == CURLM_OK else { throw .internal(code: 0) }
        }
    }

    deinit { unsafe curl_multi_cleanup(handle) }

    /// Initializes libcurl once per process, before any other call.
    private static let isInitialized = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// Ends the current wait, or else the next one. Callable from any thread.
    @Sendable func wakeUp() {
        unsafe curl_multi_wakeup(handle)
    }

    /// Blocks until a transfer is ready, `wakeUp` is called, or the time has passed.
    func wait(atMost duration: Duration) {
        unsafe curl_multi_poll(handle, nil, 0, duration.milliseconds, nil)
    }

    /// Does all work that needs no waiting. An error concerns all transfers.
    func perform() -> TransportError? {
        var running: Int32 = 0
        let code = unsafe curl_multi_perform(handle, &running)
        return code == CURLM_OK ? nil : .internal(code: Int32(code.rawValue))
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
        let code = unsafe easy.withHandle { unsafe curl_multi_add_handle(handle, $0) }
        if code != CURLM_OK { throw .internal(code: Int32(code.rawValue)) }
    }

    /// Removes a transfer. An unfinished one loses its connection, or its stream with HTTP/2.
    func remove(_ easy: EasyHandle) {
        _ = unsafe easy.withHandle { unsafe curl_multi_remove_handle(handle, $0) }
    }
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
