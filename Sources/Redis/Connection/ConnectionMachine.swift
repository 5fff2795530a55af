// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The rules of one connection, as a value that says what to do next. Time is an argument. `ConnectionHandler` carries
/// the actions out.
protocol ConnectionMachine {
    /// Whoever waits for replies.
    associatedtype Waiter

    /// What is said first.
    mutating func begin() -> [RedisCommand]
    /// A reply, or an announcement, arrived.
    mutating func receive(_ reply: RedisValue, at now: NIODeadline) -> ConnectionAction<Waiter>
    /// When `deadlinePassed(at:)` is to be called; nil for never.
    var deadline: NIODeadline? { get }
    /// To be called until the deadline lies ahead, or the connection ends.
    mutating func deadlinePassed(at now: NIODeadline) -> ConnectionAction<Waiter>
    /// It has ended: everybody who still waits, and what to tell them.
    mutating func end(_ fault: RedisConnectionFault) -> [Delivery<Waiter>]
}

/// What is to be done next.
enum ConnectionAction<Waiter> {
    case nothing
    /// Send these.
    case send([RedisCommand])
    /// The connection may be used from now on.
    case becomeReady
    /// Somebody's wait is over; then, if there is a reason, close.
    case deliver(Delivery<Waiter>, thenEnd: RedisConnectionFault?)
    /// Tell whoever observes.
    case observe(RedisEvent)
    /// Close.
    case end(RedisConnectionFault)
}

/// What somebody waited for.
struct Delivery<Waiter> {
    let waiter: Waiter
    /// One for each command, in order.
    let results: [Result<RedisValue, RedisError>]
    /// Since when they waited.
    let since: NIODeadline
}

extension Delivery: Equatable where Waiter: Equatable {}
