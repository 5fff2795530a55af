// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif
internal import Synchronization

/// The owner of one POSIX thread: libcurl may block it, which the threads of Swift concurrency forbid.
///
/// SAFETY: the body is retained once for the thread, which releases it; the thread is joined or detached exactly once.
@safe final class LoopThread: Sendable {
    private let thread: pthread_t
    private let isJoined = Mutex(false)

    init(_ body: @escaping @Sendable () -> Void) throws(TransportError) {
        let body = unsafe Unmanaged.passRetained(Body(body))
        var thread = pthread_t()
        guard unsafe pthread_create(&thread, nil, runBody, body.toOpaque()) == 0 else {
            unsafe body.release()
            throw .internal(code: 0)
        }
        self.thread = thread
    }

    deinit { if !isJoined.withLock(\.self) { pthread_detach(thread) } }

    /// Waits for the end of the thread. Call it when the body has returned or is about to.
    func join() {
        let isFirst = isJoined.withLock { isJoined in
            defer { isJoined = true }
            return !isJoined
        }
        if isFirst { pthread_join(thread, nil) }
    }
}

private final class Body: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

private func runBody(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    blockBrokenPipeSignal()
    guard let argument = unsafe argument else { return nil }
    unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
    return nil
}

/// Blocks SIGPIPE, so that writing to a closed socket does not end the program: with CURLOPT_NOSIGNAL that is our task.
private func blockBrokenPipeSignal() {
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGPIPE)
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
}
