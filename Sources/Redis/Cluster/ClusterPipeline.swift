// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Commands sent through a cluster in batches, and their replies. The results have the order of the commands.
struct ClusterPipeline {
    /// The commands to one node in one write.
    struct Batch {
        let node: RedisAddress
        /// The commands, each with `ASKING` in front if needed.
        private(set) var commands: [RedisCommand] = []
        /// The step of each command; nil for `ASKING`.
        fileprivate var steps: [Step?] = []
        /// True if another node redirected a command to this one.
        var isForRedirectTarget: Bool { steps.contains { $0 == nil } }

        fileprivate mutating func append(_ command: RedisCommand, _ step: Step) {
            if step.way != .byMap {
                commands.append(RedisCommand("ASKING"))
                steps.append(nil)
            }
            commands.append(command)
            steps.append(step)
        }
    }

    /// The cluster's state as far as replies reveal it.
    struct News {
        /// The redirections of commands, or the reasons without a target.
        var redirections: [Redirection] = []
        /// True if the reply does not fit a node of the map.
        var isMapInDoubt = false
    }

    /// One command to send, or to send again.
    fileprivate struct Step {
        var position: Int
        var way = Way.byMap
    }

    fileprivate enum Way: Equatable {
        case byMap
        case asking(RedisAddress)
    }

    private let commands: [RedisCommand]
    private var outcomes: [Result<RedisValue, RedisError>]
    private var waiting: [Step]
    /// True if the next batches should be sent a moment later.
    private(set) var wantsPause = false

    init(_ commands: [RedisCommand]) {
        self.commands = commands
        outcomes = Array(repeating: .failure(.notConnected), count: commands.count)
        waiting = commands.indices.map { Step(position: $0) }
    }

    /// One result for each command; for one not finished, its last redirection.
    var results: [Result<RedisValue, RedisError>] { outcomes }

    var isDone: Bool { waiting.isEmpty }

    /// Removes the next commands and groups them by node. A command whose slot has no master fails; it was not sent.
    /// - Parameter anybody: the node for commands without a key if no others are sent; nil for any master.
    mutating func takeBatches(by map: SlotMap, anybody: RedisAddress? = nil) -> [Batch] {
        var batches: [Batch] = []
        for step in waiting {
            guard let node = node(for: step, map, batches.first?.node ?? anybody) else {
                outcomes[step.position] = .failure(.notConnected)
                continue
            }
            let index = batches.firstIndex { $0.node == node } ?? batches.endIndex
            if index == batches.endIndex { batches.append(Batch(node: node)) }
            batches[index].append(commands[step.position], step)
        }
        waiting = []
        wantsPause = false
        return batches
    }

    /// Returns the node for a command. One without a key joins the others.
    private func node(for step: Step, _ map: SlotMap, _ usual: RedisAddress?) -> RedisAddress? {
        if case .asking(let node) = step.way { return node }
        guard let key = commands[step.position].key else { return usual ?? map.masters.randomElement() }
        return map.master(of: HashSlot(of: key))
    }

    /// Records a node's replies to a batch: each gives a result or a redirection.
    /// - Parameter isRedirected: true if another node redirected the batch.
    mutating func take(
        _ replies: [Result<RedisValue, RedisError>], to batch: Batch, isRedirected: Bool = false
    ) -> News {
        var news = News()
        for (step, reply) in zip(batch.steps, replies) {
            guard let step else { continue }
            outcomes[step.position] = reply
            guard case .failure(let error) = reply else { continue }
            if isRedirected, error == .notConnected {
                // The target of a redirection is alive: the connection is being made, and nothing was sent.
                waiting.append(step)
                wantsPause = true
            } else {
                follow(error, at: step.position, from: batch.node, &news)
            }
        }
        return news
    }

    private mutating func follow(_ error: RedisError, at position: Int, from node: RedisAddress, _ news: inout News) {
        guard case .refused(let refusal) = error, let redirection = Redirection(refusal, from: node) else {
            news.isMapInDoubt = news.isMapInDoubt || error.castsDoubtOnTopology
            return
        }
        news.redirections.append(redirection)
        switch redirection {
        case .moved(_, _), .again: waiting.append(Step(position: position))
        case .ask(let target): waiting.append(Step(position: position, way: .asking(target)))
        case .unserved: break
        }
        wantsPause = wantsPause || redirection == .again
    }
}
