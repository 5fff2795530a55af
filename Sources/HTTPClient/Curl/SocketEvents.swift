// SPDX-License-Identifier: Apache-2.0

internal import CCurl
#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif
internal import Synchronization

/// The events that the loop waits for: sockets that libcurl wants watched, by epoll(7), libcurl's timer, and a wake-up.
///
/// Only the loop's thread calls it, directly or from a callback of libcurl. Any thread may call `wakeUp`.
final class SocketEvents: Sendable {
    typealias Socket = curl_socket_t

    private let poller: Int32
    private let alarm: Int32
    private let connectTimeout: Duration
    private let state = Mutex(State())

    private struct State {
        /// The time at which libcurl wants to be called; nil for never.
        var timer: ContinuousClock.Instant?
        /// The time of the next look at all transfers, and of the last look; nil if no connection was begun lately.
        var connecting: (nextLook: ContinuousClock.Instant, end: ContinuousClock.Instant)?
        /// True if the kernel refused to watch a socket: its transfer would wait for ever.
        var hasFailed = false
    }

    /// - Parameter connectTimeout: the time that a connection may take to be made.
    init(connectTimeout: Duration) throws(TransportError) {
        self.connectTimeout = connectTimeout
        poller = epoll_create1(Int32(EPOLL_CLOEXEC))
        alarm = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        // `deinit` runs if this throws.
        watch(alarm, EPOLLIN.rawValue)
        if takeFailure() { throw .internal(code: 0) }
    }

    deinit {
        close(poller)
        close(alarm)
    }

    /// Ends the current wait, or else the next wait. Callable from any thread.
    @Sendable func wakeUp() {
        eventfd_write(alarm, 1)
    }

    /// Waits until a socket is ready, the timer or the duration has passed, or `wakeUp` is called.
    /// - Parameter use: called with each socket that is ready, and libcurl's `CURL_CSELECT_` bits.
    func wait(atMost duration: Duration, _ use: (Socket, Int32) -> Void) {
        let due = state.withLock { [$0.timer, $0.connecting?.nextLook].compactMap(\.self).min() }
        let wait = due.map { min($0 - .now, duration) } ?? duration
        unsafe withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: Self.eventsAtOnce) { events in
            let count = unsafe epoll_wait(poller, events.baseAddress, Int32(events.count), wait.milliseconds)
            for index in 0..<max(0, Int(count)) {
                let socket = unsafe events[index].data.fd
                if socket == alarm { silenceAlarm() } else { unsafe use(socket, Self.bits(of: events[index].events)) }
            }
        }
    }

    /// Returns true once when the timer has passed.
    func takeTimer() -> Bool {
        state.withLock { state in
            guard let due = state.timer, due <= .now else { return false }
            state.timer = nil
            return true
        }
    }

    /// Returns true if it is time to look at all transfers, because some transfers may be connecting.
    func takeLook() -> Bool {
        let now = ContinuousClock.now
        return state.withLock { state in
            guard let (nextLook, end) = state.connecting, nextLook <= now else { return false }
            state.connecting = now < end ? (now + Self.lookInterval, end) : nil
            return true
        }
    }

    /// Returns true once after the kernel refused to watch a socket.
    func takeFailure() -> Bool {
        state.withLock { state in
            defer { state.hasFailed = false }
            return state.hasFailed
        }
    }

    // MARK: - libcurl's wishes

    /// Begins to look at all transfers in short intervals, as long as the new connection may take to be made.
    ///
    /// libcurl 7.88 goes on to the next address of a host only when it is called for that transfer, but asks for no such
    /// call (curl#11920): the transfer would fail at its timeout for connecting.
    func beginConnecting() {
        let now = ContinuousClock.now, end = now + connectTimeout + Self.lookInterval
        state.withLock { state in
            // All connections may take equally long to connect, so the newest connection is due last.
            state.connecting = (state.connecting?.nextLook ?? now + Self.lookInterval, end)
        }
    }

    func set(timer duration: Duration?) {
        state.withLock { $0.timer = duration.map { .now + $0 } }
    }

    func watch(_ socket: Socket, toRead: Bool, toWrite: Bool) {
        watch(socket, (toRead ? EPOLLIN.rawValue : 0) | (toWrite ? EPOLLOUT.rawValue : 0))
    }

    /// Stops watching; also of a socket that is closed already.
    func forget(_ socket: Socket) {
        epoll_ctl(poller, EPOLL_CTL_DEL, socket, nil)
    }

    private func watch(_ socket: Socket, _ events: UInt32) {
        var event = unsafe epoll_event(events: events, data: epoll_data(fd: socket))
        if unsafe epoll_ctl(poller, EPOLL_CTL_ADD, socket, &event) == 0 { return }
        if unsafe errno == EEXIST && epoll_ctl(poller, EPOLL_CTL_MOD, socket, &event) == 0 { return }
        state.withLock { $0.hasFailed = true }
    }

    private func silenceAlarm() {
        var count: eventfd_t = 0
        unsafe eventfd_read(alarm, &count)
    }

    private static let eventsAtOnce = 256
    private static let lookInterval: Duration = .milliseconds(25)

    private static func bits(of events: UInt32) -> Int32 {
        let broken = EPOLLERR.rawValue | EPOLLHUP.rawValue
        return (events & EPOLLIN.rawValue != 0 ? CURL_CSELECT_IN : 0)
            | (events & EPOLLOUT.rawValue != 0 ? CURL_CSELECT_OUT : 0) | (events & broken != 0 ? CURL_CSELECT_ERR : 0)
    }
}
