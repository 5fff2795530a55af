// SPDX-License-Identifier: Apache-2.0

package import Clients
internal import JSON

package struct ListenerConfiguration: Hashable, Sendable {
    package var host: String
    /// A TCP port; 0 lets the system choose.
    package var port: Int
    package var tls = TLSFiles()

    package init(host: String, port: Int) {
        (self.host, self.port) = (host, port)
    }

    /// True if both cannot listen on this machine at once.
    package func conflicts(with other: ListenerConfiguration) -> Bool {
        guard port == other.port, port != 0 else { return false }
        let addresses = [self, other].map { NetworkAddress($0.host == "localhost" ? "127.0.0.1" : $0.host) }
        if addresses.contains(where: { $0?.bits == 0 }) { return true }
        return host == other.host || (addresses[0] != nil && addresses[0] == addresses[1])
    }

    package static var acceptedHosts: String { "an address or a host name of this machine, without a port" }

    /// Returns true for an address, also with a zone (`fe80::1%eth0`), and for a name that is not meant as an address.
    package static func accepts(host: String) -> Bool {
        let parts = host.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        if let address = NetworkAddress(parts[0]) { return parts.count == 1 || address.family == .ipv6 }
        let isNumber = host.split(separator: ".").last?.allSatisfy(\.isNumber) ?? true
        return !isNumber && (try? HostNames.name(host)) != nil
    }
}

/// The data plane.
package struct HTTPConfiguration: Hashable, Sendable {
    package var listener = ListenerConfiguration(host: "127.0.0.1", port: 8080)
    package var hostNames = HostNames()
    package var limits = HTTPLimits()
    package var deadlines = HTTPDeadlines()
    package var remoteAddresses = RemoteAddressRule()
    /// The load balancers whose connections begin with a header of the PROXY protocol.
    package var proxyProtocolAddresses = AddressRanges()
    package var sendsLegacyRateLimitFields = false

    package init() {}

    /// The settings with the limits of the admin plane: no client sends bodies there, and no load balancer names clients.
    package var ofAdminPlane: HTTPConfiguration {
        var http = self
        http.limits.body = .kibibytes(64)
        http.limits.connections = 256
        (http.limits.connectionsPerAddress, http.limits.requestsPerAddress) = (0, 0)
        http.proxyProtocolAddresses = []
        return http
    }
}

/// The size limits of requests, alone and together.
package struct HTTPLimits: Hashable, Sendable {
    package var target = ByteCount.kibibytes(8)
    package var headerField = ByteCount.kibibytes(8)
    package var headerList = ByteCount.kibibytes(16)
    package var headerFieldCount = 64
    /// One request body. A receipt of 5 MB is on record; base64 makes it 7.
    package var body = ByteCount.mebibytes(12)
    package var bodiesInFlight = ByteCount.mebibytes(256)
    package var connections = 4096
    package var connectionsPerAddress = 0
    package var requestsPerAddress = 0

    package var connectionsOfOneAddress: Int {
        connectionsPerAddress > 0 ? connectionsPerAddress : max(1, connections / 4)
    }

    /// The effective number of requests in flight per address behind a trusted proxy.
    package var requestsOfOneAddress: Int { requestsPerAddress > 0 ? requestsPerAddress : max(1, connections / 4) }
}

/// The time limits of a connection. All are absolute: a slow trickle of bytes does not extend them.
package struct HTTPDeadlines: Hashable, Sendable {
    package var handshake: Duration = .seconds(5)
    package var headers: Duration = .seconds(5)
    package var request: Duration = .seconds(15)
    package var answer: Duration = .seconds(60)
    package var idle: Duration = .seconds(75)
}

package struct ShutdownConfiguration: Hashable, Sendable {
    package var drainDelay: Duration = .seconds(5)
    package var grace: Duration = .seconds(20)

    package init() {}
}

/// Host names in lower case.
package struct HostNames: Hashable, ConfigurationValue {
    package private(set) var names: [String] = []

    package init(_ names: [String] = []) {
        self.names = names
    }

    package func adding(hostOf listener: ListenerConfiguration) -> HostNames {
        guard NetworkAddress(listener.host) == nil, let name = try? Self.name(listener.host) else { return self }
        return HostNames(names + [name])
    }

    fileprivate static func name(_ text: String) throws(ConfigurationValueFault) -> String {
        guard text.utf8.allSatisfy(ASCII.isSafe) else {
            throw ConfigurationValueFault(description: "\"\(text)\" is not a host name; leave out the port")
        }
        guard (1...253).contains(text.utf8.count), !text.hasPrefix(".") else {
            throw ConfigurationValueFault(description: "\"\(text)\" is not a host name")
        }
        let name = text.lowercased()
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }

    package static var accepted: String { "host names separated by commas, such as gateway,gateway.payments.svc" }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        self.init()
        for part in text.split(separator: ",") { names.append(try Self.name(part.trimmingWhiteSpace())) }
    }

    package var configurationText: String { names.joined(separator: ",") }
}
