// SPDX-License-Identifier: Apache-2.0

/// The rule that finds a request's client address. The address is used for limits per address only.
///
/// The address of a peer is trusted as its own only, unless the peer is a trusted proxy. Proxies append to the right
/// end of the header field: addresses are read from there, up to and including the first that is not a trusted proxy.
/// Anything further left is client input.
package struct RemoteAddressRule: Hashable, Sendable {
    package var trustedProxies = AddressRanges()
    /// The only field that is read: a proxy that writes one field may pass on the client's value of the other field.
    package var header = ForwardingHeader.xForwardedFor

    package init(trustedProxies: AddressRanges = AddressRanges(), header: ForwardingHeader = .xForwardedFor) {
        (self.trustedProxies, self.header) = (trustedProxies, header)
    }

    package static let maximumHops = 16
    /// The longest element that is read, in bytes.
    private static let maximumElementBytes = 1024

    /// Returns the client address of a request; nil if the connection has none.
    /// - Parameter elements: the elements of the field `header`, the last element first, read only if the peer is a
    ///   trusted proxy. They are split at every comma, also within quotes. No address contains a comma, and a quote the
    ///   client left open must not reach into the proxy's part.
    package func address(
        from peer: NetworkAddress?, forwarding elements: @autoclosure () -> [String]
    ) -> NetworkAddress? {
        guard let peer, trustedProxies.contains(peer) else { return peer }
        var nearest = peer
        for element in elements().prefix(Self.maximumHops) {
            // An unreadable element ends the search: the request counts for the proxy that passed it on.
            guard element.utf8.count <= Self.maximumElementBytes, let address = header.address(in: element[...]) else {
                break
            }
            nearest = address
            guard trustedProxies.contains(address) else { break }
        }
        return nearest
    }
}

/// The header field in which a proxy names the client's address.
package enum ForwardingHeader: String, CaseIterable, Hashable, Sendable, ConfigurationValue {
    /// `X-Forwarded-For: 192.0.2.1, 198.51.100.7`
    case xForwardedFor = "x-forwarded-for"
    /// `Forwarded: for=192.0.2.1;proto=https, for="[2001:db8::1]:4711"` (RFC 7239).
    case forwarded

    /// Returns the address in one element; nil if there is none, such as in `for=unknown`.
    func address(in element: Substring) -> NetworkAddress? {
        switch self {
        case .xForwardedFor: Self.address(ofNode: element.trimmingWhiteSpace())
        case .forwarded: Self.forwardedFor(in: element)
        }
    }

    /// Returns nil for an element with two `for` parameters or with open or escaped quotes. The client may have written
    /// part of the element, such as a host name the proxy copied.
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

    /// Parses a node of RFC 7239 §6, as proxies also write it in `X-Forwarded-For`: an address, an IPv4 address with a
    /// port, or an IPv6 address in brackets with an optional port.
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
