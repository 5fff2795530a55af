// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
package import Settings
internal import Synchronization

/// One source of connections: an IPv4 address, or the /64 that one customer's line has in IPv6 (RFC 6177).
struct SourceAddress: Hashable, Sendable {
    private let family: NetworkAddress.Family
    private let prefix: UInt64

    init(_ address: NetworkAddress) {
        family = address.family
        prefix = UInt64(truncatingIfNeeded: address.family == .ipv4 ? address.bits : address.bits >> 64)
    }
}

/// The number that each source holds of something there is a limit for, as a value.
struct SourceCounts {
    /// The most that one source may hold.
    let maximum: Int
    private var counts: [SourceAddress: Int] = [:]

    init(maximum: Int) {
        self.maximum = maximum
    }

    /// The sources that hold something.
    var sources: Int { counts.count }

    /// Takes one for a source; false, and nothing taken, where it holds all it may.
    mutating func acquire(_ source: SourceAddress) -> Bool {
        let count = counts[source, default: 0]
        guard count < maximum else { return false }
        counts[source] = count + 1
        return true
    }

    /// Gives one back.
    mutating func release(_ source: SourceAddress) {
        guard let count = counts[source] else { return }
        counts[source] = count > 1 ? count - 1 : nil
    }
}

/// Counts that all event loops share. The lock is held for one look into a dictionary.
final class SharedSourceCounts: Sendable {
    private let counts: Mutex<SourceCounts>

    init(maximum: Int) {
        counts = Mutex(SourceCounts(maximum: maximum))
    }

    func acquire(_ source: SourceAddress) -> Bool { counts.withLock { $0.acquire(source) } }

    func release(_ source: SourceAddress) { counts.withLock { $0.release(source) } }

    /// The sources that hold something.
    var sources: Int { counts.withLock { $0.sources } }
}

/// The limits for one source on one listener: one peer must not take the connections of all others.
package final class SourceLimits: Sendable {
    private let addresses: RemoteAddressRule
    /// The connections of each address that connects.
    let connections: SharedSourceCounts
    /// The requests in flight of each address that trusted proxies name.
    let requests: SharedSourceCounts

    /// - Parameter addresses: whose word counts for where requests come from.
    package init(_ limits: HTTPLimits, _ addresses: RemoteAddressRule) {
        self.addresses = addresses
        connections = SharedSourceCounts(maximum: limits.connectionsOfOneAddress)
        requests = SharedSourceCounts(maximum: limits.requestsOfOneAddress)
    }

    /// The source of a connection that was just accepted.
    func source(of peer: NetworkAddress?) -> ConnectionSource {
        guard let peer else { return .unknown }
        if addresses.trustedProxies.contains(peer) { return .proxy(peer) }
        let source = SourceAddress(peer)
        return connections.acquire(source) ? .address(source) : .refused
    }

    /// Gives back what a connection held.
    func end(_ source: ConnectionSource) {
        if case .address(let address) = source { connections.release(address) }
    }

    /// The address that a proxy sends a request for; nil if that is a proxy too.
    fileprivate func address(behind proxy: NetworkAddress, _ header: RequestHeader) -> SourceAddress? {
        guard let address = addresses.address(from: proxy, header), !addresses.trustedProxies.contains(address)
        else { return nil }
        return SourceAddress(address)
    }
}

/// The other end of a connection, as the limits see it.
enum ConnectionSource: Hashable, Sendable {
    /// It has no address; it may be a test.
    case unknown
    /// It holds one of this address's connections.
    case address(SourceAddress)
    /// Its address holds all the connections it may.
    case refused
    /// A trusted proxy, which may hold any number. Its requests count for the addresses it names.
    case proxy(NetworkAddress)
}

/// The place that the request of a proxy's connection takes among those of the address it is sent for.
struct ForwardedRequest {
    private let limits: SourceLimits
    private let proxy: NetworkAddress
    private var held: SourceAddress?

    /// - Returns: nil for a connection that comes from no proxy.
    init?(_ source: ConnectionSource, _ limits: SourceLimits) {
        guard case .proxy(let proxy) = source else { return nil }
        self.limits = limits
        self.proxy = proxy
    }

    /// Takes a place for a request; false if there is none left for its address.
    mutating func begin(_ header: RequestHeader) -> Bool {
        guard held == nil, let address = limits.address(behind: proxy, header) else { return true }
        guard limits.requests.acquire(address) else { return false }
        held = address
        return true
    }

    /// The request is over.
    mutating func end() {
        if let held { limits.requests.release(held) }
        held = nil
    }
}
