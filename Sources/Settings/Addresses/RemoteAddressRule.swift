// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Where a request comes from, for limits for addresses and for nothing else.
///
/// Whoever connects is believed about its own address only, unless it is one of the operator's proxies. A proxy appends
/// what it saw at the right end of the header field: from there the addresses are believed up to and including the first
/// that is no proxy. What stands further left was sent by that one, and may be anything.
package struct RemoteAddressRule: Hashable, Sendable {
    /// The proxies that are believed.
    package var trustedProxies = AddressRanges()
    /// The one field that is read: a proxy that writes one of them may pass on whatever a client wrote in the other.
    package var header = ForwardingHeader.xForwardedFor

    /// Creates a rule. By default no proxy is trusted.
    package init(
        trustedProxies: AddressRanges = AddressRanges(), header: ForwardingHeader = ForwardingHeader.xForwardedFor
    ) {
        self.trustedProxies = trustedProxies
        self.header = header
    }

    /// The most proxies a request may come through.
    static let maximumHops = 16

    /// Returns the address a request counts for; nil where the connection has none.
    /// - Parameter values: the values of the field `header` in the request, read only if the peer is a proxy.
    package func address(
        from peer: NetworkAddress?, forwarding values: @autoclosure () -> [String]
    ) -> NetworkAddress? {
        guard let peer, trustedProxies.contains(peer) else { return peer }
        var nearest = peer
        for element in Self.elementsFromTheRight(in: values()).prefix(Self.maximumHops) {
            // What cannot be read ends the way: the request counts for the proxy that passed it on.
            guard let address = header.address(in: element) else { break }
            nearest = address
            guard trustedProxies.contains(address) else { break }
        }
        return nearest
    }

    /// Split at every comma, also within quotes: no address has one, and a quote that a client left open must not reach
    /// into what the proxy appended.
    private static func elementsFromTheRight(in values: [String]) -> [Substring] {
        values.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }.reversed()
    }
}

/// The header field in which proxies say whom they serve.
package enum ForwardingHeader: String, CaseIterable, Hashable, Sendable, ConfigurationValue {
    /// `X-Forwarded-For: 192.0.2.1, 198.51.100.7`
    case xForwardedFor = "x-forwarded-for"
    /// `Forwarded: for=192.0.2.1;proto=https, for="[2001:db8::1]:4711"` (RFC 7239).
    case forwarded

    /// The address in one element; nil where there is none, such as in `for=unknown`.
    func address(in element: Substring) -> NetworkAddress? {
        switch self {
        case .xForwardedFor: Self.address(ofNode: element.trimmingWhiteSpace())
        case .forwarded: Self.forwardedFor(in: element)
        }
    }

    /// An element that says it twice, or in which quotes are open or escaped, says nothing: a caller may have written part
    /// of it, such as a host name that the proxy copied.
    private static func forwardedFor(in element: Substring) -> NetworkAddress? {
        let values = element.split(separator: ";").compactMap { parameter -> String? in
            let parts = parameter.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0].trimmingWhiteSpace().lowercased() == "for" else { return nil }
            return parts[1].trimmingWhiteSpace()
        }
        guard values.count == 1, element.count(where: { $0 == "\"" }).isMultiple(of: 2), !element.contains("\\")
        else { return nil }
        let value = values[0]
        let isQuoted = value.count >= 2 && value.hasPrefix("\"") && value.hasSuffix("\"")
        return address(ofNode: isQuoted ? String(value.dropFirst().dropLast()) : value)
    }

    /// RFC 7239 §6, as proxies also write it in `X-Forwarded-For`: an address, an IPv4 address with a port, or an IPv6
    /// address in brackets with or without one.
    private static func address(ofNode node: String) -> NetworkAddress? {
        if node.hasPrefix("["), let end = node.firstIndex(of: "]") {
            let port = node[node.index(after: end)...]
            guard port.isEmpty || isPort(port) else { return nil }
            let address = NetworkAddress(node[node.index(after: node.startIndex)..<end])
            return node[..<end].contains(":") ? address : nil
        }
        if let colon = node.firstIndex(of: ":"), node[..<colon].contains(".") {
            return isPort(node[colon...]) ? NetworkAddress(node[..<colon]) : nil
        }
        return NetworkAddress(node)
    }

    private static func isPort(_ text: Substring) -> Bool {
        text.first == ":" && (2...6).contains(text.count) && text.dropFirst().allSatisfy { $0.isASCII && $0.isNumber }
    }
}
