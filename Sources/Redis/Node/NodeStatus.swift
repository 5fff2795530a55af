// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Synchronization

/// What one node tells its observer, and remembers of it for `RedisNode.health`.
final class NodeStatus: Sendable {
    private let observer: any RedisObserver
    private let lastForbidden = Mutex<(refusal: RedisRefusal, until: NIODeadline)?>(nil)

    /// Nothing happened yet.
    init(_ observer: any RedisObserver) {
        self.observer = observer
    }

    /// How long a command that the user may not use is held against the node.
    private static let memory = TimeAmount.seconds(60)

    /// Passes on what happened.
    func observe(_ event: RedisEvent) {
        observer.observe(event)
    }

    /// Counts how commands went.
    func count(_ results: [Result<RedisValue, RedisError>], since: NIODeadline) {
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

    /// Counts commands that were not sent.
    func refuse(_ commands: Int, _ error: RedisError) -> [Result<RedisValue, RedisError>] {
        let results = Array(repeating: Result<RedisValue, RedisError>.failure(error), count: commands)
        count(results, since: .now())
        return results
    }

    /// What Redis lately said the user may not do.
    var forbiddenCommand: RedisRefusal? {
        lastForbidden.withLock { $0.flatMap { NIODeadline.now() < $0.until ? $0.refusal : nil } }
    }

    private func remember(_ error: RedisError, at now: NIODeadline) {
        guard case .refused(let refusal) = error, refusal.isConfigurationFault else { return }
        lastForbidden.withLock { $0 = (refusal, now + Self.memory) }
    }
}

extension RedisRefusal {
    /// Whether the login may work a moment later without anybody's help.
    var isPassing: Bool {
        switch kind {
        case .loading, .masterDown, .busy, .tryAgain, .clusterDown, .readOnly, .outOfMemory, .misconfigured: true
        default: line.hasPrefix("ERR max number of clients reached")
        }
    }
}
