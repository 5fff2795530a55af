// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Synchronization

/// Somebody who waits for the replies of a node or for a deadline earlier than the node's own, whichever comes first.
final class FirstOutcome: Sendable {
    typealias Replies = [Result<RedisValue, RedisError>]

    private let waiter: Mutex<CheckedContinuation<Replies, Never>?>

    private init(_ waiter: CheckedContinuation<Replies, Never>) { self.waiter = Mutex(waiter) }

    /// The replies, or timeouts at `end`; what was sent then may still be carried out.
    static func of(
        _ commands: [RedisCommand], at node: RedisNode, until end: NIODeadline, on eventLoop: any EventLoop
    ) async -> Replies {
        await withCheckedContinuation { waiter in
            let outcome = FirstOutcome(waiter)
            let timer = eventLoop.scheduleTask(deadline: end) {
                outcome.resume(commands.map { _ in .failure(.timeout) })
            }
            Task {
                outcome.resume(await node.send(commands))
                timer.cancel()
            }
        }
    }

    private func resume(_ replies: Replies) {
        waiter.withLock { waiter in
            defer { waiter = nil }
            return waiter
        }?.resume(returning: replies)
    }
}
