// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Clients

/// The host and port that a request names as its destination (RFC 9110 §7.2).
struct RequestAuthority: Hashable, Sendable {
    /// As sent: `gateway.example:8080`, `[::1]:8080`, or nothing.
    let text: String
    private let hostBytes: Int

    /// Parses `uri-host [ ":" port ]`; nil for anything else. Empty is allowed, for a target without an authority (RFC
    /// 9112 §3.2).
    init?(_ text: String) {
        let bytes = text.utf8.span
        guard let end = bytes.count == 0 ? 0 : Self.hostEnd(bytes) else { return nil }
        guard end == bytes.count || bytes[end] == UInt8(ascii: ":") && end > 0 else { return nil }
        for index in end..<bytes.count where index > end && !bytes[index].isDigit { return nil }
        self.text = text
        hostBytes = end
        guard !isBracketed || isIPv6Address else { return nil }
    }

    /// Returns the index after the host: an address in brackets, or a name or IPv4 address (RFC 3986 §3.2.2).
    private static func hostEnd(_ bytes: Span<UInt8>) -> Int? {
        var index = 0
        if bytes[0] == UInt8(ascii: "[") {
            while index < bytes.count, bytes[index] != UInt8(ascii: "]") { index += 1 }
            return index < bytes.count ? index + 1 : nil
        }
        while index < bytes.count, bytes[index] != UInt8(ascii: ":") {
            guard let next = bytes.characterEnd(from: index, where: \.isHostNameCharacter) else { return nil }
            index = next
        }
        return index
    }

    private var isBracketed: Bool { text.utf8.first == UInt8(ascii: "[") }

    /// The host; an address in brackets includes them.
    private var host: Substring { Substring(text.utf8.prefix(hostBytes)) }

    private var isIPv6Address: Bool {
        isBracketed && host.utf8.contains(UInt8(ascii: ":")) && NetworkAddress(host.dropFirst().dropLast()) != nil
    }

    /// True if the host is an IP address, which no name server can point elsewhere.
    var isAddress: Bool { isBracketed || text.utf8.span.extracting(0..<hostBytes).isIPv4Address }

    /// True if the host is `localhost` or a name below it, which are always this machine (RFC 6761 §6.3).
    var isLocalhost: Bool { isName("localhost") || name.hasSuffix(".localhost") }

    /// Returns true if the host is this name.
    /// - Parameter name: in lower case.
    func isName(_ name: String) -> Bool {
        text.utf8.span.extracting(0..<hostBytes).equalsIgnoringCase(name) || self.name == name
    }

    /// The host in lower case, without the dot that makes a name absolute.
    private var name: Substring {
        let name = Substring(host.lowercased())
        return name.hasSuffix(".") ? name.dropLast() : name
    }
}

extension Span<UInt8> {
    /// True for four numbers from 0 to 255, separated by dots, without leading zeros (RFC 3986 §3.2.2).
    fileprivate var isIPv4Address: Bool {
        var (parts, digits, value) = (0, 0, 0)
        for index in indices {
            let byte = self[index]
            if byte.isDigit, digits == 0 || value > 0 {
                (digits, value) = (digits + 1, value * 10 + Int(byte - UInt8(ascii: "0")))
                if value > 255 { return false }
            } else if byte == UInt8(ascii: "."), digits > 0 {
                (parts, digits, value) = (parts + 1, 0, 0)
            } else {
                return false
            }
        }
        return parts == 3 && digits > 0
    }
}

/// The rule for the hosts of requests on listeners that require no API key.
///
/// Through DNS rebinding, a web page can make a browser in this network send requests to the gateway: the page's name
/// resolves to the gateway's address, and the request carries that name. So only addresses, `localhost` and the names
/// set by the operator are served.
package struct HostRule: Hashable, Sendable {
    var names = HostNames()

    package init(names: HostNames = HostNames()) {
        self.names = names
    }

    /// Paths served for every host, for the health checks of orchestrators and load balancers.
    static let openPaths = ["/livez", "/readyz"]

    /// Returns true if a request is served.
    /// - Parameter authority: nil for a request of HTTP/1.0 without `Host`, which no browser sends.
    func permits(_ authority: RequestAuthority?, path: String) -> Bool {
        guard let authority else { return true }
        return authority.isAddress || authority.isLocalhost || names.names.contains(where: authority.isName)
            || Self.isOpen(path)
    }

    private static func isOpen(_ path: String) -> Bool {
        openPaths.contains { path.hasPrefix($0) && (path.utf8.count == $0.utf8.count || path.hasPrefix($0 + "?")) }
    }
}

extension SingleValue {
    /// Returns true if this value of `Origin` (RFC 6454 §7), in which browsers name the site a request comes from, is a
    /// site other than the gateway's own. `null` counts as another site, and so do several fields, which no browser
    /// sends.
    func isForeignOrigin(to authority: RequestAuthority?) -> Bool {
        switch self {
        case .none: return false
        case .several: return true
        case .one(let origin):
            guard let authority else { return true }
            return origin.lowercased() != "http://" + authority.text.lowercased()
        }
    }
}
