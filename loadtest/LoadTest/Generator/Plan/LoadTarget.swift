// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// The server that receives the load: an http or https URL.
struct LoadTarget: Hashable, Sendable {
    var isSecure = false
    let host: String
    let port: Int
    /// The path and the query.
    let path: String

    /// The value of the field Host (RFC 9110 §7.2).
    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }

    var url: String { "\(isSecure ? "https" : "http")://\(authority)\(path)" }
}

/// The reason for which a text is no URL of a target.
enum LoadTargetError: Error, Hashable, CustomStringConvertible {
    /// It does not begin with `http://` or `https://`.
    case notHTTP(String)
    /// No host, a port out of range, a character that has no place in a request line.
    case malformed(String)

    var description: String {
        switch self {
        case .notHTTP(let text):
            "'\(text)' is no URL that begins with http:// or https://, such as http://127.0.0.1:8080/v1/verify."
        case .malformed(let text): "'\(text)' is no URL of the form http://host[:port][/path]."
        }
    }
}

extension LoadTarget {
    /// Reads `http://host[:port][/path][?query]`, or the same with https.
    ///
    /// - Parameter defaultPath: the path of a URL without one.
    init(_ text: String, defaultPath: String = "/") throws(LoadTargetError) {
        let scheme = text.lowercased().prefix { $0 != ":" }
        guard ["http", "https"].contains(scheme), text.dropFirst(scheme.count).hasPrefix("://") else {
            throw .notHTTP(text)
        }
        isSecure = scheme == "https"
        let usualPort = isSecure ? 443 : 80
        let visible = text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard visible, let url = URL(string: text), url.user == nil, let host = url.host(), !host.isEmpty,
            (1...65535).contains(url.port ?? usualPort)
        else { throw .malformed(text) }
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        port = url.port ?? usualPort
        let path = url.path(percentEncoded: true)
        let query = url.query(percentEncoded: true).map { "?" + $0 } ?? ""
        self.path = (path.isEmpty ? defaultPath : path) + query
    }
}
