// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Synchronization

/// Waits for the replies of a node, or for a deadline earlier than the node's own.
final class FirstOutcome: Sendable {
    typealias Replies = [Result<RedisValue, RedisError>]

    private let waiter: Mutex<CheckedContinuation<Replies, Never>?>

    private init(_ waiter: CheckedContinuation<Replies, Never>) { self.waiter = Mutex(waiter) }

    /// Returns the replies, or timeouts at `end`; commands that timed out may still be executed.
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
