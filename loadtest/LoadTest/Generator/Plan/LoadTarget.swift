// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// Who is asked: an http URL.
struct LoadTarget: Hashable, Sendable {
    let host: String
    let port: Int
    /// The path and the query.
    let path: String

    /// The value of the field Host (RFC 9110 §7.2).
    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == 80 ? name : "\(name):\(port)"
    }

    var url: String { "http://\(authority)\(path)" }
}

/// Why a text is no URL to ask.
enum LoadTargetError: Error, Hashable, CustomStringConvertible {
    /// Load over TLS would measure the generator's cryptography.
    case https
    /// It does not begin with `http://`.
    case notHTTP(String)
    /// No host, a port out of range, a character that has no place in a request line.
    case malformed(String)

    var description: String {
        switch self {
        case .https:
            "https is not supported: TLS would cost this program as much as the server. Ask the server behind it, "
                + "with http://."
        case .notHTTP(let text):
            "'\(text)' is no URL that begins with http://, such as http://127.0.0.1:8080/v1/verify."
        case .malformed(let text): "'\(text)' is no URL of the form http://host[:port][/path]."
        }
    }
}

extension LoadTarget {
    /// Reads `http://host[:port][/path][?query]`.
    ///
    /// - Parameter defaultPath: where the URL has none.
    init(_ text: String, defaultPath: String = "/") throws(LoadTargetError) {
        guard !text.lowercased().hasPrefix("https://") else { throw .https }
        guard text.lowercased().hasPrefix("http://") else { throw .notHTTP(text) }
        let visible = text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard visible, let url = URL(string: text), url.user == nil, let host = url.host(), !host.isEmpty,
            (1...65535).contains(url.port ?? 80)
        else { throw .malformed(text) }
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        port = url.port ?? 80
        let path = url.path(percentEncoded: true)
        let query = url.query(percentEncoded: true).map { "?" + $0 } ?? ""
        self.path = (path.isEmpty ? defaultPath : path) + query
    }
}
