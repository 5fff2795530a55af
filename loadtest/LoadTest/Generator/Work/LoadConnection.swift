// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOSSL
internal import NIOTLS

struct SentRequest {
    /// In nanoseconds of `NIODeadline`.
    let intended: Int64
    let sent: Int64
}

/// One connection of a worker: writes requests as they stand, reads answers in their order.
final class LoadConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let worker: LoadWorker
    private var context: ChannelHandlerContext?
    private var reader: AnswerReader
    private(set) var underWay = CircularBuffer<SentRequest>(initialCapacity: 4)
    /// True since the connection can carry requests.
    private var wasOpened = false
    private var handshakeError: (any Error)?
    private(set) var hasAnswered = false
    var isListed = false
    /// True if something is written and not flushed.
    var isDirty = false

    init(worker: LoadWorker) {
        self.worker = worker
        reader = AnswerReader(limits: worker.plan.limits.answer)
    }

    var isFree: Bool { context != nil && underWay.count < worker.plan.pipelining }

    func send(_ bytes: ByteBuffer, _ request: SentRequest) {
        underWay.append(request)
        context?.write(wrapOutboundOut(bytes), promise: nil)
    }

    func flush() {
        isDirty = false
        context?.flush()
    }

    /// Closes the connection; what is under way has failed for this reason.
    func end(_ failure: RequestFailure) {
        guard let context else { return }
        leave(failure)
        context.close(promise: nil)
    }

    // MARK: - ChannelInboundHandler

    func channelActive(context: ChannelHandlerContext) {
        guard worker.isSecure else { return open(context) }
        context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(worker.plan.limits.connectTimeout)) { [self] in
            if !wasOpened { context.close(promise: nil) }
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { open(context) }
        context.fireUserInboundEventTriggered(event)
    }

    private func open(_ context: ChannelHandlerContext) {
        self.context = context
        wasOpened = true
        worker.opened(self)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        worker.received(bytes.readableBytes)
        do throws(AnswerFault) {
            try read(bytes.readableBytesUInt8Span)
        } catch {
            end(.badAnswer)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        worker.work()
    }

    func channelInactive(context: ChannelHandlerContext) {
        guard wasOpened else { return worker.connectFailed(handshakeError ?? ChannelError.eof) }
        // An answer without a length ends with its connection.
        if let answer = try? reader.end(), let request = underWay.popFirst() {
            worker.answered(answer, request, reader)
        }
        leave(.connectionEnded)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if wasOpened { return end(.connectionEnded) }
        handshakeError = error
        context.close(promise: nil)
    }

    // MARK: - Reading

    private func read(_ bytes: Span<UInt8>) throws(AnswerFault) {
        var position = 0
        while context != nil, position < bytes.count {
            guard !underWay.isEmpty else { throw .unasked }
            guard let answer = try reader.next(bytes, &position) else { return }
            hasAnswered = true
            worker.answered(answer, underWay.removeFirst(), reader)
            // The server closes behind this answer, too; what was sent after it is lost.
            if answer.isLast { return end(.connectionEnded) }
            worker.freed(self)
        }
    }

    private func leave(_ failure: RequestFailure) {
        guard context != nil else { return }
        context = nil
        // What waits behind the first has only lost its connection.
        if let first = underWay.popFirst() { worker.failed(failure, first) }
        while let request = underWay.popFirst() { worker.failed(.connectionEnded, request) }
        worker.closed(self)
    }
}

/// The certificates that a target may prove its name with.
enum TLSTrust: Hashable, Sendable {
    case system
    case file(String)
    case anything

    fileprivate var name: String { if case .file(let path) = self { "'\(path)'" } else { "the system" } }
}

/// TLS towards one target, over which HTTP/1.1 is spoken.
struct TLSClient: Sendable {
    private let context: NIOSSLContext
    /// Nil for an address, which no server name indication holds (RFC 6066 §3).
    private let hostname: String?

    init?(_ target: LoadTarget, _ trust: TLSTrust) throws(LoadRunError) {
        guard target.isSecure else { return nil }
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.applicationProtocols = ["http/1.1"]
        switch trust {
        case .system: break
        case .file(let path): configuration.trustRoots = .file(path)
        case .anything: configuration.certificateVerification = .none
        }
        do { context = try NIOSSLContext(configuration: configuration) } catch {
            throw .noCertificates(trust.name)
        }
        hostname = (try? SocketAddress(ipAddress: target.host, port: 0)) == nil ? target.host : nil
    }

    /// Puts TLS in front of what the channel's other handlers send and receive.
    func add(to channel: any Channel) throws {
        let handler = try NIOSSLClientHandler(context: context, serverHostname: hostname)
        try channel.pipeline.syncOperations.addHandler(handler)
    }
}

extension LoadRunError {
    init(_ error: any Error, connectingTo target: LoadTarget) {
        let text = "\(error)"
        guard error is NIOSSLError || error is NIOSSLExtraError || error is BoringSSLError else {
            self = error as? LoadRunError ?? .notConnected(target.authority)
            return
        }
        // Of the library's text only the last word is for readers: "...:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED at ...".
        let reason = text.firstMatch(of: /OPENSSL_internal:(\w+)/).map { String($0.output.1) } ?? text
        self = .handshake(target.authority, reason: reason)
    }
}
