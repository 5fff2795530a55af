// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts
package import Resilience
internal import Secrets

/// The settings for requests to Apple.
package struct AppleConfiguration: Hashable, Sendable {
    /// True if the gateway sends requests to Apple.
    package var isEnabled = true
    /// The endpoint that gets each request first, as Apple recommends.
    package var productionURL = UpstreamURL("https://buy.itunes.apple.com/verifyReceipt")
    /// The endpoint for receipts that the production endpoint calls sandbox receipts.
    package var sandboxURL = UpstreamURL("https://sandbox.itunes.apple.com/verifyReceipt")
    /// The account's shared secret, for apps without their own.
    var sharedSecret: Secret?
    /// A PEM file with CA certificates to trust instead of the system's.
    package var caFile: String?
    package var proxy: ProxyURL?
    /// True if the endpoints may have addresses that are not globally reachable.
    var allowsPrivateAddresses = false
    /// The time limit of a request, with one retry and both endpoints.
    package var deadline: Duration = .seconds(10)
    /// The time a client's request that can be answered without Apple waits for Apple's answer.
    package var softTimeout: Duration = .seconds(4)
    /// The maximum number of requests in flight to one endpoint.
    package var concurrency = 200
    /// The maximum number of requests to one endpoint per second; 0 for unlimited.
    package var maximumRequestsPerSecond = 0
    package var breaker = CircuitBreaker.Mode.auto
    /// The deprecation date of `verifyReceipt`.
    package var deprecation: Timestamp?
    /// The expected end of `verifyReceipt`.
    package var sunset: Timestamp?
    /// The memory for cached results.
    package var cacheSize = ByteCount.mebibytes(128)
}

/// The URL of an endpoint: `https`, or `http` on this machine.
package struct UpstreamURL: Hashable, Sendable {
    /// The URL as configured.
    package let text: String

    /// Creates a URL that is constant or was checked.
    init(_ text: String) { self.text = text }

    /// True if the host is this machine, so that neither the network nor DNS can interfere.
    var isLoopback: Bool { Loopback.contains(host) }

    /// True for `http`.
    package var isPlain: Bool { text.hasPrefix("http://") }

    package var host: String {
        let authority =
            text.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: true).dropFirst().first ?? ""
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            return String(authority[authority.index(after: authority.startIndex)..<end])
        }
        return String(authority.prefix { $0 != ":" })
    }
}

extension UpstreamURL: ConfigurationValue {
    package static var accepted: String { "an https URL, or an http URL on this machine" }

    package init(configuration text: String) throws(ConfigurationValueFault) {
        self.init(text)
        guard text.hasPrefix("https://") || isPlain, !host.isEmpty, !text.contains("@"),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw ConfigurationValueFault(description: "this is not the URL of an endpoint") }
        if isPlain, !isLoopback {
            throw ConfigurationValueFault(description: "receipts and secrets must not leave this machine without TLS")
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

    package var configurationText: String {
        var text: [UInt8] = []
        appendRFC3339(to: &text)
        return String(decoding: text, as: UTF8.self)
    }
}

/// The response to `POST /verifyReceipt` without a verdict.
package enum UndecidedReply: String, CaseIterable, Hashable, Sendable, ConfigurationValue {
    /// HTTP 200 with status 21005, as Apple answers.
    case apple = "21005"
    /// HTTP 503, for clients that only read the HTTP status.
    case unavailable = "503"

    package init(configuration text: String) throws(ConfigurationValueFault) {
        guard let reply = UndecidedReply(rawValue: text) else {
            throw ConfigurationValueFault(description: "\"\(text)\" is neither 21005 nor 503")
        }
        self = reply
    }
}
