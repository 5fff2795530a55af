// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The state machine of one connection. It returns actions, which `ConnectionHandler` carries out. Time is an argument.
protocol ConnectionMachine {
    associatedtype Waiter

    mutating func begin() -> [RedisCommand]
    /// Handles a reply or an announcement.
    mutating func receive(_ reply: RedisValue, at now: NIODeadline) -> ConnectionAction<Waiter>
    /// The time at which to call `deadlinePassed(at:)`; nil for never.
    var deadline: NIODeadline? { get }
    /// Handles a deadline. Called until the deadline is in the future, or the connection ends.
    mutating func deadlinePassed(at now: NIODeadline) -> ConnectionAction<Waiter>
    /// Ends the machine, and returns the outcomes for all waiters.
    mutating func end(_ fault: RedisConnectionFault) -> [Delivery<Waiter>]
}

enum ConnectionAction<Waiter> {
    case nothing
    case send([RedisCommand])
    case becomeReady
    /// Complete a waiter, then close if there is a fault.
    case deliver(Delivery<Waiter>, thenEnd: RedisConnectionFault?)
    /// Report an event to the observer.
    case observe(RedisEvent)
    case end(RedisConnectionFault)
}

/// The outcome for one waiter.
struct Delivery<Waiter> {
    let waiter: Waiter
    /// One result for each command, in order.
    let results: RedisResults
    /// The start of the wait.
    let since: NIODeadline
}

extension Delivery: Equatable where Waiter: Equatable {}
