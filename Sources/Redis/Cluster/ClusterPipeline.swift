// SPDX-License-Identifier: Apache-2.0

/// Commands sent through a cluster in batches, and their replies. The results have the order of the commands.
struct ClusterPipeline {
    struct Batch {
        let node: RedisAddress
        /// The commands, each with `ASKING` in front if needed.
        private(set) var commands: [RedisCommand] = []
        /// The step of each command; nil for `ASKING`.
        fileprivate var steps: [Step?] = []
        /// True if another node redirected a command to this node.
        var isForRedirectTarget: Bool { steps.contains { $0 == nil } }

        fileprivate mutating func append(_ command: RedisCommand, _ step: Step) {
            if step.redirectTarget != nil {
                commands.append(RedisCommand("ASKING"))
                steps.append(nil)
            }
            commands.append(command)
            steps.append(step)
        }
    }

    struct TopologyHints {
        /// The redirections of commands, or the reasons without a target.
        var redirections: [Redirection] = []
        var isMapInDoubt = false
    }

    fileprivate struct Step {
        var position: Int
        /// The node that another node named for this command only; nil for the master in the map.
        var redirectTarget: RedisAddress?
    }

    private let commands: [RedisCommand]
    /// One result for each command; for one not finished, its last redirection.
    private(set) var results: RedisResults
    private var waiting: [Step]
    private(set) var wantsPause = false

    init(_ commands: [RedisCommand]) {
        self.commands = commands
        results = Array(repeating: .failure(.notConnected), count: commands.count)
        waiting = commands.indices.map { Step(position: $0) }
    }

    var isDone: Bool { waiting.isEmpty }

    /// Removes the next commands and groups them by node. A command whose slot has no master fails; it was not sent.
    /// - Parameter fallbackNode: the node for commands without a key if no other commands are sent; nil for any master.
    mutating func takeBatches(by map: SlotMap, fallbackNode: RedisAddress? = nil) -> [Batch] {
        var batches: [Batch] = []
        for step in waiting {
            guard let node = node(for: step, map, batches.first?.node ?? fallbackNode) else {
                results[step.position] = .failure(.notConnected)
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

    private func node(for step: Step, _ map: SlotMap, _ usual: RedisAddress?) -> RedisAddress? {
        if let target = step.redirectTarget { return target }
        guard let key = commands[step.position].key else { return usual ?? map.masters.randomElement() }
        return map.master(of: HashSlot(of: key))
    }

    /// Records a node's replies to a batch: each gives a result or a redirection.
    /// - Parameter isRedirected: true if another node redirected the batch.
    mutating func take(_ replies: RedisResults, to batch: Batch, isRedirected: Bool = false) -> TopologyHints {
        var hints = TopologyHints()
        for (step, reply) in zip(batch.steps, replies) {
            guard let step else { continue }
            results[step.position] = reply
            if let earlier = redirected(before: step) {
                waiting.append(Step(position: step.position, redirectTarget: earlier.redirectTarget))
                continue
            }
            guard case .failure(let error) = reply else { continue }
            if isRedirected, error == .notConnected {
                // The target of a redirection is alive: the connection is being made, and nothing was sent.
                waiting.append(step)
                wantsPause = true
            } else {
                follow(error, at: step.position, from: batch.node, &hints)
            }
        }
        return hints
    }

    /// Returns the redirected command before a `WAIT`; nil for other commands. Redis sees no key in `WAIT` and does not
    /// redirect it, so its reply says nothing about that command.
    private func redirected(before step: Step) -> Step? {
        guard commands[step.position].waitsForReplicas else { return nil }
        return waiting.last {
            $0.position < step.position && commands[$0.position].key == commands[step.position].key
        }
    }

    private mutating func follow(
        _ error: RedisError, at position: Int, from node: RedisAddress, _ hints: inout TopologyHints
    ) {
        hints.isMapInDoubt = hints.isMapInDoubt || error.castsDoubtOnTopology
        guard case .refused(let refusal) = error, let redirection = Redirection(refusal, from: node) else { return }
        hints.redirections.append(redirection)
        switch redirection {
        case .moved(_, _), .again: waiting.append(Step(position: position))
        case .ask(let target): waiting.append(Step(position: position, redirectTarget: target))
        case .unavailable: break
        }
        wantsPause = wantsPause || redirection == .again
    }
}

/// The reason why a cluster's node did not execute a command, and what to do.
enum Redirection: Hashable, Sendable {
    /// The slot has a new master: send the command there, and update the map.
    case moved(HashSlot, to: RedisAddress)
    /// The slot is being moved: send this command there, after `ASKING`, without a change of the map.
    case ask(RedisAddress)
    /// Some keys of the command are being moved: send it again a moment later.
    case again
    /// The slot has no master, or this node cannot tell: fail now, and refresh the map.
    case unavailable

    /// Creates the redirection of an error reply; nil if that is the command's result.
    /// - Parameter replier: the node that replied; its host applies if the reply leaves it out.
    init?(_ refusal: RedisRefusal, from replier: RedisAddress) {
        switch refusal.kind {
        case .moved:
            guard let (slot, address) = Self.target(of: refusal.line, from: replier) else { return nil }
            self = .moved(slot, to: address)
        case .ask:
            guard let (_, address) = Self.target(of: refusal.line, from: replier) else { return nil }
            self = .ask(address)
        case .tryAgain: self = .again
        case .clusterDown, .loading, .masterDown, .readOnly: self = .unavailable
        default: return nil
        }
    }

    /// Parses `MOVED 3999 127.0.0.1:6381`; the host may be missing, or an IPv6 address without brackets.
    private static func target(of line: String, from replier: RedisAddress) -> (HashSlot, RedisAddress)? {
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, let slot = Int(words[1]).flatMap(HashSlot.init),
            let colon = words[2].lastIndex(of: ":"),
            let port = Int(words[2][words[2].index(after: colon)...]),
            let address = replier.sibling(host: words[2][..<colon], port: port)
        else { return nil }
        return (slot, address)
    }
}
