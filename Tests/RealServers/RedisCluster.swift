// SPDX-License-Identifier: Apache-2.0

internal import LoopbackPorts
public import TestSupport

/// A Redis cluster of masters without replicas. A lost master takes its slots with it; the others continue.
public final class RedisCluster: Sendable {
    /// The masters, in the order of their slots.
    public let masters: [RealServer]
    /// The ports at which the nodes connect to each other.
    private let busPorts: [ReservedPort]

    /// Starts the masters with equal shares of the slots; returns when every node serves.
    /// - Parameters:
    ///   - spare: the number of nodes without a slot, at the end of `masters`.
    ///   - nodeTimeout: the time for which a silent node is waited for before the others consider it lost. By default none
    ///     is lost because the machine is busy; clients notice a killed node without that.
    ///   - options: further directives for each.
    public init(
        masters count: Int = 3, spare: Int = 0, nodeTimeout: Duration = Patience.forEvent, _ options: [String] = []
    ) async throws {
        var masters: [RealServer] = []
        let busPorts = try (0..<(count + spare)).map { _ in try ReservedPort() }
        for bus in busPorts { masters.append(try await Self.node(busPort: bus.number, nodeTimeout, options)) }
        (self.masters, self.busPorts) = (masters, busPorts)
        for (index, master) in masters.enumerated() {
            try master.ask("CLUSTER", "SET-CONFIG-EPOCH", "\(index + 1)")
            guard index < count else { continue }
            let slots = (first: 16384 * index / count, last: 16384 * (index + 1) / count - 1)
            try master.ask("CLUSTER", "ADDSLOTSRANGE", "\(slots.first)", "\(slots.last)")
        }
        try meet()
        for master in masters {
            try await master.ask("CLUSTER", "INFO") { answer in
                answer.contains("cluster_state:ok") && answer.contains("cluster_known_nodes:\(count + spare)")
                    && answer.contains("cluster_slots_ok:16384")
            }
        }
    }

    /// The hosts of a URL: `127.0.0.1:7000,127.0.0.1:7001`.
    public var hosts: String { masters.map { "127.0.0.1:\($0.port)" }.joined(separator: ",") }

    /// Returns the cluster's ID of a master.
    public func id(of master: Int) throws -> String { try masters[master].ask("CLUSTER", "MYID") }

    /// Begins to move a slot: until `finishMove`, keys that are no longer there are redirected to the new master.
    public func beginMove(slot: Int, from source: Int, to target: Int) throws {
        try masters[target].ask("CLUSTER", "SETSLOT", "\(slot)", "IMPORTING", try id(of: source))
        try masters[source].ask("CLUSTER", "SETSLOT", "\(slot)", "MIGRATING", try id(of: target))
    }

    /// Moves the current keys of a slot.
    public func moveKeys(slot: Int, from source: Int, to target: Int) throws {
        let keys = try masters[source].ask("CLUSTER", "GETKEYSINSLOT", "\(slot)", "1000")
        guard !keys.isEmpty else { return }
        try masters[source].ask(
            ["MIGRATE", "127.0.0.1", "\(masters[target].port)", "", "0", "2000", "KEYS"]
                + keys.split(separator: "\n").map(String.init))
    }

    /// Announces the new master to all masters, the new one first.
    public func finishMove(slot: Int, to target: Int) throws {
        let id = try id(of: target)
        try masters[target].ask("CLUSTER", "SETSLOT", "\(slot)", "NODE", id)
        for master in masters { try master.ask("CLUSTER", "SETSLOT", "\(slot)", "NODE", id) }
    }

    private static func node(busPort: Int, _ nodeTimeout: Duration, _ options: [String]) async throws -> RealServer {
        try await RealServer.redis(
            [
                // By default the nodes connect to each other at their port + 10000, which may be invalid.
                "--cluster-enabled", "yes", "--cluster-port", "\(busPort)", "--cluster-node-timeout",
                "\(Int(nodeTimeout / .milliseconds(1)))", "--cluster-require-full-coverage", "no",
            ] + options)
    }

    private func meet() throws {
        for master in masters.dropFirst() {
            let bus = try master.ask("CONFIG", "GET", "cluster-port").split(separator: "\n").last ?? ""
            try masters[0].ask("CLUSTER", "MEET", "127.0.0.1", "\(master.port)", String(bus))
        }
    }
}
