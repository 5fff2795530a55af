// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Receipts

/// The host and port that a request names as its destination (RFC 9110 §7.2).
struct RequestAuthority: ~Escapable {
    /// As sent: `gateway.example:8080`, `[::1]:8080`, or nothing.
    let text: Span<UInt8>
    private let host: Span<UInt8>

    /// Parses `uri-host [ ":" port ]`; nil for anything else. Empty is allowed, for a target without an authority (RFC
    /// 9112 §3.2).
    @_lifetime(copy text)
    init?(_ text: Span<UInt8>) {
        guard let end = text.count == 0 ? 0 : Self.hostEnd(text) else { return nil }
        guard end == text.count || text[end] == UInt8(ascii: ":") && end > 0 else { return nil }
        for index in end..<text.count where index > end && !text[index].isDigit { return nil }
        self.text = text
        host = text.extracting(0..<end)
        guard !isBracketed || host.isIPv6Address else { return nil }
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

    private var isBracketed: Bool { text.begins(with: "[") }

    /// True if the host is an IP address, which no name server can point elsewhere.
    var isAddress: Bool { isBracketed || host.isIPv4Address }

    /// True if the host is `localhost` or a name below it, which are always this machine (RFC 6761 §6.3).
    var isLocalhost: Bool {
        let (name, suffix) = (name, ".localhost")
        return isName("localhost")
            || name.count >= suffix.utf8.count
                && name.extracting((name.count - suffix.utf8.count)...).equalsIgnoringCase(suffix)
    }

    /// Returns true if the host is this name.
    /// - Parameter name: in lower case.
    func isName(_ name: String) -> Bool { host.equalsIgnoringCase(name) || self.name.equalsIgnoringCase(name) }

    /// The host without the dot that makes a name absolute.
    private var name: Span<UInt8> {
        @_lifetime(copy self) get {
            let isAbsolute = host.count > 0 && host[host.count - 1] == UInt8(ascii: ".")
            return host.extracting(0..<host.count - (isAbsolute ? 1 : 0))
        }
    }
}

extension Span<UInt8> {
    /// True for an IPv6 address in brackets.
    fileprivate var isIPv6Address: Bool {
        guard firstIndex(of: UInt8(ascii: ":"), from: 0) != nil else { return false }
        return NetworkAddress(String(copying: extracting(1..<count - 1))) != nil
    }

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

extension HostNames {
    /// Returns true if a request is served without an API key.
    ///
    /// Through DNS rebinding, a web page can make a browser in this network send requests to the gateway: the page's
    /// name resolves to the gateway's address, and the request carries that name. So only addresses, `localhost` and the
    /// names set by the operator are served.
    /// - Parameter authority: nil for a request of HTTP/1.0 without `Host`, which no browser sends.
    func permits(_ authority: RequestAuthority?) -> Bool {
        guard let authority else { return true }
        if authority.isAddress || authority.isLocalhost { return true }
        for name in names where authority.isName(name) { return true }
        return false
    }
}
