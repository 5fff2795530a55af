// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts
package import Resilience
internal import Secrets

/// How Apple is asked.
package struct AppleConfiguration: Hashable, Sendable {
    /// Whether Apple is asked at all.
    package var isEnabled = true
    /// Asked first, as Apple wants it.
    package var productionURL = UpstreamURL("https://buy.itunes.apple.com/verifyReceipt")
    /// Asked where the production endpoint says so.
    package var sandboxURL = UpstreamURL("https://sandbox.itunes.apple.com/verifyReceipt")
    /// The account's shared secret, for apps that have none of their own.
    var sharedSecret: Secret?
    /// A PEM file with the authorities to trust instead of the system's.
    package var caFile: String?
    /// The proxy to go through.
    package var proxy: ProxyURL?
    /// Whether the endpoints may have addresses that are not globally reachable.
    var allowsPrivateAddresses = false
    /// From a question to its answer, a retry and the way through both endpoints included.
    package var deadline: Duration = .seconds(10)
    /// How long a request that can be answered without Apple waits for it.
    package var softTimeout: Duration = .seconds(4)
    /// The most questions under way to one endpoint.
    package var concurrency = 200
    /// The most questions to one endpoint in a second; 0 is any number.
    package var maximumRequestsPerSecond = 0
    /// Who decides whether an endpoint is left alone.
    package var breaker = CircuitBreaker.Mode.auto
    /// When `verifyReceipt` becomes, or became, deprecated.
    package var deprecation: Timestamp?
    /// When `verifyReceipt` is expected to end.
    package var sunset: Timestamp?
    /// What of Apple's answers is kept.
    package var cacheSize = ByteCount.mebibytes(128)
}

/// Where something is asked: `https`, or `http` on this machine.
package struct UpstreamURL: Hashable, Sendable {
    /// The URL as it was written.
    package let text: String

    /// A URL that stands in this program, or was checked.
    init(_ text: String) { self.text = text }

    /// Whether it is on this machine, where nobody listens in between and DNS has no say.
    var isLoopback: Bool { Loopback.contains(host) }

    /// Whether it is without TLS.
    package var isPlain: Bool { text.hasPrefix("http://") }

    /// The server's name or address.
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
        else { throw ConfigurationValueFault(description: "this is no URL of an endpoint") }
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
            throw ConfigurationValueFault(description: "\"\(text)\" is no day or time")
        }
        self = time
    }

    package var configurationText: String {
        var text: [UInt8] = []
        appendRFC3339(to: &text)
        return String(decoding: text, as: UTF8.self)
    }
}

/// What callers of `POST /verifyReceipt` get when nothing can be said about a receipt.
package enum UndecidedReply: String, CaseIterable, Hashable, Sendable, ConfigurationValue {
    /// HTTP 200 with status 21005, as Apple answers.
    case apple = "21005"
    /// HTTP 503, for clients that look at the HTTP status only.
    case unavailable = "503"

    package init(configuration text: String) throws(ConfigurationValueFault) {
        guard let reply = UndecidedReply(rawValue: text) else {
            throw ConfigurationValueFault(description: "\"\(text)\" is neither")
        }
        self = reply
    }
}
