// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The reason why a cluster's node did not execute a command, and what to do.
enum Redirection: Hashable, Sendable {
    /// The slot has a new master: send the command there, and update the map.
    case moved(HashSlot, to: RedisAddress)
    /// The slot is being moved: send this command there, after `ASKING`, without a change of the map.
    case ask(RedisAddress)
    /// Some keys of the command are being moved: send it again a moment later.
    case again
    /// The slot has no master, or this node cannot tell: fail now, and refresh the map.
    case unserved

    /// Creates the redirection of an error reply; nil if that is the command's result.
    /// - Parameter asked: the node that replied; its host applies if the reply leaves it out.
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

    /// Parses `MOVED 3999 127.0.0.1:6381`; the host may be missing, or an IPv6 address without brackets.
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
