// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What a node of a cluster means when it does not carry a command out.
enum Redirection: Hashable, Sendable {
    /// The slot has another master for good: send it there, and remember.
    case moved(HashSlot, to: RedisAddress)
    /// The slot is on its way: send this command there, after `ASKING`, and remember nothing.
    case ask(RedisAddress)
    /// Some keys of the command are on their way: send it again a moment later.
    case again
    /// Nobody serves the slot, or this node cannot say: fail now, and have a look at the cluster.
    case unserved

    /// Nil for a refusal that is an answer to the command.
    /// - Parameter asked: who refused; the host it may leave out is its own.
    init?(_ refusal: RedisRefusal, from asked: RedisAddress) {
        switch refusal.kind {
        case .moved:
            guard let (slot, address) = Self.target(of: refusal.line, from: asked) else { return nil }
            self = .moved(slot, to: address)
        case .ask:
            guard let (_, address) = Self.target(of: refusal.line, from: asked) else { return nil }
            self = .ask(address)
        case .tryAgain: self = .again
        case .clusterDown, .loading, .masterDown, .readOnly: self = .unserved
        default: return nil
        }
    }

    /// `MOVED 3999 127.0.0.1:6381`; the host may be missing, or an IPv6 address without brackets.
    private static func target(of line: String, from asked: RedisAddress) -> (HashSlot, RedisAddress)? {
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, let slot = Int(words[1]).flatMap(HashSlot.init),
            let colon = words[2].lastIndex(of: ":"),
            let port = Int(words[2][words[2].index(after: colon)...]),
            let address = asked.sibling(host: words[2][..<colon], port: port)
        else { return nil }
        return (slot, address)
    }
}
