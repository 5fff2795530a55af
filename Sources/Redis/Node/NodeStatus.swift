// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Synchronization

/// Reports a node's events to the observer, and keeps state for `RedisNode.health`.
final class NodeStatus: Sendable {
    private let observer: any RedisObserver
    private let lastForbidden = Mutex<(refusal: RedisRefusal, until: NIODeadline)?>(nil)

    init(_ observer: any RedisObserver) { self.observer = observer }

    /// The time for which a forbidden command affects the node's health.
    private static let memory = TimeAmount.seconds(60)

    func observe(_ event: RedisEvent) { observer.observe(event) }

    /// Reports the outcomes of commands.
    func count(_ results: RedisResults, since: NIODeadline) {
        let now = NIODeadline.now()
        let took = Duration(now - since)
        for result in results {
            switch result {
            case .success: observe(.commandDone(nil, took: took))
            case .failure(let error):
                remember(error, at: now)
                observe(.commandDone(error, took: took))
            }
        }
    }

    /// Reports commands that were not sent.
    func refuse(_ commands: Int, _ error: RedisError) -> RedisResults {
        let results = Array(repeating: Result<RedisValue, RedisError>.failure(error), count: commands)
        count(results, since: .now())
        return results
    }

    /// The most recent error reply about a forbidden command.
    var forbiddenCommand: RedisRefusal? {
        lastForbidden.withLock { $0.flatMap { NIODeadline.now() < $0.until ? $0.refusal : nil } }
    }

    private func remember(_ error: RedisError, at now: NIODeadline) {
        guard case .refused(let refusal) = error, refusal.isConfigurationFault else { return }
        lastForbidden.withLock { $0 = (refusal, now + Self.memory) }
    }
}

extension RedisRefusal {
    /// True if a login may succeed a moment later without the operator.
    var isPassing: Bool {
        switch kind {
        case .loading, .masterDown, .busy, .tryAgain, .clusterDown, .readOnly, .outOfMemory, .misconfigured: true
        default: line.hasPrefix("ERR max number of clients reached")
        }
    }
}
