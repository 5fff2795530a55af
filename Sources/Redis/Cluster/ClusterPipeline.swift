// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Several commands on their way through a cluster: what goes where next, and what came back. The order of the results
/// is that of the commands, however they travelled.
struct ClusterPipeline {
    /// What one node is sent in one write.
    struct Batch {
        /// Who is sent it.
        let node: RedisAddress
        /// `ASKING` stands in front of each command that needs it.
        private(set) var commands: [RedisCommand] = []
        /// Of each command sent, whose reply it gets; nil for `ASKING`.
        fileprivate var steps: [Step?] = []
        /// Whether some other node pointed to this one.
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

    /// What the results say about the cluster, beside what they say to the caller.
    struct News {
        /// Where commands were sent on to, or why not.
        var redirections: [Redirection] = []
        /// Whether a node did not answer as one should that is in the map.
        var isMapInDoubt = false
    }

    /// One command that is to be sent (again).
    fileprivate struct Step {
        /// Which of the commands.
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
    /// Whether the next batches are better sent a moment later.
    private(set) var wantsPause = false

    init(_ commands: [RedisCommand]) {
        self.commands = commands
        outcomes = Array(repeating: .failure(.notConnected), count: commands.count)
        waiting = commands.indices.map { Step(position: $0) }
    }

    /// One for each command: of one that is still on its way, why it is.
    var results: [Result<RedisValue, RedisError>] { outcomes }

    /// Whether nothing is left to send.
    var isDone: Bool { waiting.isEmpty }

    /// Of what is to be sent next, what each node is sent. A command nobody serves is done: it was not sent.
    /// - Parameter anybody: who gets commands without a key, where others go nowhere; nil for any master.
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

    /// Whom a command is sent to. One without a key goes where others go anyway, else to anybody.
    private func node(for step: Step, _ map: SlotMap, _ usual: RedisAddress?) -> RedisAddress? {
        if case .asking(let node) = step.way { return node }
        guard let key = commands[step.position].key else { return usual ?? map.masters.randomElement() }
        return map.master(of: HashSlot(of: key))
    }

    /// Takes what a node replied to a batch: of each command its result, or the way it goes on.
    /// - Parameter isRedirected: whether the batch was sent where another node had pointed.
    mutating func take(
        _ replies: [Result<RedisValue, RedisError>], to batch: Batch, isRedirected: Bool = false
    ) -> News {
        var news = News()
        for (step, reply) in zip(batch.steps, replies) {
            guard let step else { continue }
            outcomes[step.position] = reply
            guard case .failure(let error) = reply else { continue }
            if isRedirected, error == .notConnected {
                // Whom a node points to is alive: the connection is on its way, and nothing was sent.
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
