// SPDX-License-Identifier: Apache-2.0

/// The origins of pages in a WebView whose scripts may read answers (Fetch, "HTTP-network-or-cache fetch" and "CORS check").
package struct WebOrigins: Hashable, ConfigurationValue {
    package enum Limits {
        static let origins = 64
        static let bytes = 255
    }

    /// In lower case, as browsers send them.
    private let origins: [String]

    /// The origins of Cordova's apps with a scheme, and of Capacitor's and Ionic's. No web site can have them. Pages in
    /// files have the origin `null`, but so has a sandboxed frame of any site.
    package static let ofApps = WebOrigins(["app://localhost", "capacitor://localhost", "ionic://localhost"])

    private init(_ origins: [String]) { self.origins = origins }

    package func contains(_ origin: String) -> Bool { origins.contains { $0.utf8.elementsEqual(origin.utf8) } }

    package static var accepted: String {
        "origins separated by commas, such as capacitor://localhost,https://app.example.com, or nothing"
    }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        var origins: [String] = []
        for part in text.split(separator: ",") { origins.append(try Self.origin(part.trimmingWhiteSpace())) }
        guard origins.count <= Limits.origins else {
            throw ConfigurationValueFault(description: "has more than \(Limits.origins) origins")
        }
        self.init(origins)
    }

    package var configurationText: String { origins.joined(separator: ",") }

    /// Reads `scheme://host`, perhaps with a port, or `null` (RFC 6454 §6.2). A wildcard is no origin.
    private static func origin(_ text: String) throws(ConfigurationValueFault) -> String {
        let origin = text.lowercased(), parts = origin.split(separator: "://", omittingEmptySubsequences: false)
        let isSafe = origin.utf8.allSatisfy { $0.isOriginCharacter } && origin.utf8.count <= Limits.bytes
        // The origin of a page in a file may have no host.
        let hasHost = parts.count == 2 && !parts[0].isEmpty && (!parts[1].isEmpty || parts[0] == "file")
        guard isSafe, origin == "null" || hasHost && !parts[1].contains("/") else {
            throw ConfigurationValueFault(
                description: "\"\(text)\" is not an origin; write the scheme and host without a path, or null")
        }
        return origin
    }
}

extension UInt8 {
    /// True for the characters of schemes, hosts and ports, in lower case.
    fileprivate var isOriginCharacter: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
        case UInt8(ascii: ":"), UInt8(ascii: "/"), UInt8(ascii: "["), UInt8(ascii: "]"): true
        default: false
        }
    }
}
