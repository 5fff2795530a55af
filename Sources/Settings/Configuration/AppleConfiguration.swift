// SPDX-License-Identifier: Apache-2.0

package import AppStore
package import Clients
internal import Cryptography
package import Gateway
internal import HTTPClient
internal import HTTPServer
package import Receipts
package import Resilience
internal import Telemetry

package struct AppleConfiguration: Hashable, Sendable {
    package var isEnabled = true
    package var productionURL = UpstreamURL("https://buy.itunes.apple.com/verifyReceipt")
    package var sandboxURL = UpstreamURL("https://sandbox.itunes.apple.com/verifyReceipt")
    var sharedSecret: Secret?
    package var caFile: String?
    package var proxy: ProxyURL?
    var allowsPrivateAddresses = false
    package var timeouts = UpstreamTimeouts()
    package var concurrency = ConcurrencyLimit.Policy().maximum
    package var maximumRequestsPerSecond = 0
    package var breaker = CircuitBreaker.Mode.auto
    var receiptUpstream = ReceiptUpstream.both
    package var deprecation: Timestamp?
    package var sunset: Timestamp?
    package var cacheSize = ByteCount.mebibytes(128)
    package var serverAPI = ServerAPIConfiguration()

    fileprivate var urls: [UpstreamURL] { UpstreamEndpoint.allCases.map { url(of: $0) } }

    package func url(of endpoint: UpstreamEndpoint) -> UpstreamURL {
        switch (endpoint.api, endpoint.environment) {
        case (.verifyReceipt, .production): productionURL
        case (.verifyReceipt, .sandbox): sandboxURL
        case (.serverAPI, .production): serverAPI.productionURL.url
        case (.serverAPI, .sandbox): serverAPI.sandboxURL.url
        }
    }
}

package struct ServerAPIConfiguration: Hashable, Sendable {
    package var productionURL = UpstreamBaseURL("https://api.storekit.apple.com")
    package var sandboxURL = UpstreamBaseURL("https://api.storekit-sandbox.apple.com")
    package var budget = ServerAPIBudget()
}

/// The URL of an endpoint: `https`, or `http` on this machine.
package struct UpstreamURL: Hashable, ConfigurationValue {
    package let text: String

    /// Creates a URL that is constant or was checked.
    init(_ text: String) { self.text = text }

    /// True if the host is this machine, so that neither the network nor DNS can interfere.
    var isLoopback: Bool { Loopback.contains(host) }

    package var isPlain: Bool { text.hasPrefix("http://") }

    package var host: String {
        let authority =
            text.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: true).dropFirst().first ?? ""
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            return String(authority[authority.index(after: authority.startIndex)..<end])
        }
        return String(authority.prefix { $0 != ":" })
    }

    package static var accepted: String { "an https URL, or an http URL on this machine" }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        try self.init(text, carrying: "receipts and secrets")
    }

    /// - Parameter contents: the sensitive part of requests to the URL, for the message.
    fileprivate init(_ text: String, carrying contents: String) throws(ConfigurationValueFault) {
        self.init(text)
        guard text.hasPrefix("https://") || isPlain, !host.isEmpty, !text.contains("@"),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw ConfigurationValueFault(description: "this is not the URL of an endpoint") }
        if isPlain, !isLoopback {
            throw ConfigurationValueFault(description: "\(contents) must not leave this machine without TLS")
        }
    }

    package var configurationText: String { text }
}

/// The beginning of an endpoint's URL: scheme, host and port, and a path if a proxy needs a path.
package struct UpstreamBaseURL: Hashable, ConfigurationValue {
    package let url: UpstreamURL

    package var text: String { url.text }
    package var host: String { url.host }

    /// Creates a URL that is constant or was checked.
    init(_ text: String) { url = UpstreamURL(text) }

    package static var accepted: String { "\(UpstreamURL.accepted), without a slash or a query at its end" }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        url = try UpstreamURL(text, carrying: "tokens")
        if text.hasSuffix("/") || text.contains("?") || text.contains("#") {
            throw ConfigurationValueFault(description: "paths are appended to this URL, which does not allow its end")
        }
    }

    package var configurationText: String { text }
}

extension CircuitBreaker.Mode: ConfigurationValue {}

extension Timestamp: ConfigurationValue {
    package static var accepted: String { "a day such as 2027-06-30, or a time such as 2027-06-30T12:00:00Z" }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        guard let time = Timestamp(rfc3339: text) ?? Timestamp(rfc3339: text + "T00:00:00Z") else {
            throw ConfigurationValueFault(description: "\"\(text)\" is not a day or time")
        }
        self = time
    }

    package var configurationText: String { description }
}

extension ServerAPIHosts {
    package init(_ configuration: ServerAPIConfiguration) {
        self.init(production: configuration.productionURL.text, sandbox: configuration.sandboxURL.text)
    }
}

extension TransportConfiguration {
    package init(_ configuration: AppleConfiguration) {
        self.init()
        let urls = configuration.urls
        totalTimeout = configuration.timeouts.deadline
        maximumConnectionsPerHost = configuration.concurrency
        // Each endpoint at its maximum concurrency.
        maximumRequests = urls.count * configuration.concurrency
        caFile = configuration.caFile
        proxy = configuration.proxy?.exposed
        allowsPlainHTTP = urls.contains(where: \.isPlain)
        allowsPrivateAddresses = configuration.allowsPrivateAddresses || urls.contains(where: \.isLoopback)
        userAgent = "receipt-gateway/\(Version.current)"
    }

    /// Creates the settings of the transport for webhooks, without its limits.
    package init(_ configuration: WebhooksConfiguration) {
        self.init()
        caFile = configuration.caFile
        proxy = configuration.proxy?.exposed
        allowsPlainHTTP = configuration.allowsPlainHTTP
        allowsPrivateAddresses = configuration.allowsPrivateAddresses
        userAgent = "receipt-gateway/\(Version.current)"
    }
}

/// The address of a proxy, as libcurl takes it. It may contain a user and a password, which are never shown.
package struct ProxyURL: Hashable, ConfigurationValue, Redacted, CustomDebugStringConvertible {
    /// The whole address, with the password: review each use.
    let exposed: String

    package static var accepted: String { "the URL of an HTTP proxy with its port, such as http://proxy.internal:3128" }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        exposed = text
        if let fault = Self.fault(of: text) { throw ConfigurationValueFault(description: fault) }
    }

    /// Returns the reason why libcurl could not use a proxy, or would use another than is meant. Says nothing of the
    /// text, which may contain a password.
    private static func fault(of text: String) -> String? {
        let scheme = text.firstRange(of: "://")
        if let scheme, !["http", "https"].contains(text[..<scheme.lowerBound].lowercased()) {
            return "the scheme is neither http nor https"
        }
        let authority = text[(scheme?.upperBound ?? text.startIndex)...].dropLast(text.hasSuffix("/") ? 1 : 0)
        let parts = authority.split(separator: "@", omittingEmptySubsequences: false)
        if parts.count > 2 { return "there is more than one @; in a user or password it is written %40" }
        let user = parts.count == 2 ? parts[0] : ""
        guard user.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !user.contains(where: { "/?#".contains($0) }) else {
            return "the user or password has characters that are written with %"
        }
        let place = parts[parts.count - 1], colon = place.lastIndex(of: ":") ?? place.endIndex
        let port = place[colon...].dropFirst(), host = place[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        let address = String(isBracketed ? host.dropFirst().dropLast() : host)
        guard ListenerConfiguration.accepts(host: address), isBracketed == address.contains(":") else {
            return "the host is missing, or is neither an address nor a name"
        }
        guard port.allSatisfy({ $0.isASCII && $0.isNumber }), (1...65_535).contains(Int(port) ?? 0) else {
            return "the port is missing, or is no number from 1 to 65535"
        }
        return nil
    }

    /// Redacts everything between the scheme and the last `@`, because any part may be the password.
    package var configurationText: String {
        guard let at = exposed.utf8.lastIndex(of: UInt8(ascii: "@")) else { return exposed }
        let scheme = exposed.firstRange(of: "://").map { exposed[..<$0.upperBound] } ?? ""
        return scheme + Secret.redacted + exposed[at...]
    }

    package var description: String { configurationText }
    package var debugDescription: String { configurationText }
}
