// SPDX-License-Identifier: Apache-2.0

package import Clients
internal import Synchronization

/// The number of limited items that each source holds, shared by all event loops. The lock is held for one dictionary
/// access.
final class SourceCounts: Sendable {
    private let maximum: Int
    private let counts = Mutex<[SourceAddress: Int]>([:])

    init(maximum: Int) {
        self.maximum = maximum
    }

    var sources: Int { counts.withLock { $0.count } }

    /// Takes one item for a source. Returns false, and takes nothing, at the maximum.
    func acquire(_ source: SourceAddress) -> Bool {
        counts.withLock { counts in
            let count = counts[source, default: 0]
            guard count < maximum else { return false }
            counts[source] = count + 1
            return true
        }
    }

    func release(_ source: SourceAddress) {
        counts.withLock { counts in
            guard let count = counts[source] else { return }
            counts[source] = count > 1 ? count - 1 : nil
        }
    }
}

/// The limits for one source on one listener, so that one peer cannot take the connections of all other peers.
final class SourceLimits: Sendable {
    private let addresses: RemoteAddressRule
    let connections: SourceCounts
    /// The requests in flight of each address named by a trusted proxy.
    let requests: SourceCounts

    /// - Parameter addresses: the proxies whose forwarding header is trusted.
    init(_ limits: HTTPLimits, _ addresses: RemoteAddressRule) {
        self.addresses = addresses
        connections = SourceCounts(maximum: limits.connectionsOfOneAddress)
        requests = SourceCounts(maximum: limits.requestsOfOneAddress)
    }

    func source(of peer: NetworkAddress?) -> ConnectionSource {
        guard let peer else { return .unknown }
        if addresses.trustedProxies.contains(peer) { return .proxy(peer) }
        let source = peer.source
        return connections.acquire(source) ? .address(source) : .refused
    }

    func end(_ source: ConnectionSource) {
        if case .address(let address) = source { connections.release(address) }
    }

    /// Returns the address that a proxy forwards a request for; nil if that is a proxy too.
    fileprivate func address(behind proxy: NetworkAddress, _ header: RequestHeader) -> SourceAddress? {
        guard let address = addresses.address(from: proxy, header), !addresses.trustedProxies.contains(address)
        else { return nil }
        return address.source
    }
}

/// The peer of a connection, as classified by the limits.
enum ConnectionSource: Hashable, Sendable {
    /// No address, as in tests.
    case unknown
    /// An address, which holds one of its connections.
    case address(SourceAddress)
    /// An address that holds its maximum of connections.
    case refused
    /// A trusted proxy, which may hold any number. Its requests count for the addresses it names.
    case proxy(NetworkAddress)
}

/// The concurrency slot of a proxied request, counted for the address it is sent for.
struct ForwardedRequest {
    private let limits: SourceLimits
    private let proxy: NetworkAddress
    private(set) var held: SourceAddress?

    /// Returns nil for a connection that is not from a proxy.
    init?(_ source: ConnectionSource, _ limits: SourceLimits) {
        guard case .proxy(let proxy) = source else { return nil }
        self.limits = limits
        self.proxy = proxy
    }

    /// Takes a slot for a request. Returns false if its address has none left.
    mutating func begin(_ header: RequestHeader) -> Bool {
        guard held == nil, let address = limits.address(behind: proxy, header) else { return true }
        guard limits.requests.acquire(address) else { return false }
        held = address
        return true
    }

    mutating func end() {
        if let held { limits.requests.release(held) }
        held = nil
    }
}

extension RemoteAddressRule {
    /// Returns the address that a request counts for; nil if the connection has none.
    package func address(from peer: NetworkAddress?, _ request: RequestHeader) -> NetworkAddress? {
        address(
            from: peer, forwarding: request.lastElements(of: header.rawValue, maximumCount: Self.maximumHops))
    }
}
