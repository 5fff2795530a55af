// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// A request under way.
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
    private var isEnding = false
    private(set) var hasAnswered = false
    /// Whether the worker has it among those that are free.
    var isListed = false
    /// Whether something is written and not flushed.
    var isDirty = false

    init(worker: LoadWorker) {
        self.worker = worker
        reader = AnswerReader(limits: worker.plan.limits.answer)
    }

    /// Whether it takes another request.
    var isFree: Bool { context != nil && !isEnding && underWay.count < worker.plan.pipelining }

    func send(_ bytes: ByteBuffer, _ request: SentRequest) {
        underWay.append(request)
        context?.write(wrapOutboundOut(bytes), promise: nil)
    }

    func flush() {
        isDirty = false
        context?.flush()
    }

    /// Closes the connection; what is under way has failed for this reason.
    func end(_ failure: Failure) {
        guard let context else { return }
        leave(failure)
        context.close(promise: nil)
    }

    // MARK: - ChannelInboundHandler

    func channelActive(context: ChannelHandlerContext) {
        self.context = context
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
        do throws(AnswerFault) {
            // An answer without a length ends with its connection.
            if let answer = try reader.end(), let request = underWay.popFirst() { worker.answered(answer, request) }
            leave(.connectionEnded)
        } catch {
            leave(.connectionEnded)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(.connectionEnded)
    }

    // MARK: - Reading

    private func read(_ bytes: Span<UInt8>) throws(AnswerFault) {
        var position = 0
        while context != nil, position < bytes.count {
            guard !underWay.isEmpty else { throw .unasked }
            guard let answer = try reader.next(bytes, &position) else { return }
            hasAnswered = true
            worker.answered(answer, underWay.removeFirst())
            if answer.isLast { return endWhenAnswered() }
            worker.freed(self)
        }
    }

    /// The server closes after this answer; what was sent behind it is lost.
    private func endWhenAnswered() {
        isEnding = true
        end(.connectionEnded)
    }

    private func leave(_ failure: Failure) {
        guard context != nil else { return }
        context = nil
        // What waits behind the first has only lost its connection.
        if let first = underWay.popFirst() { worker.failed(failure, first) }
        while let request = underWay.popFirst() { worker.failed(.connectionEnded, request) }
        worker.closed(self)
    }
}
