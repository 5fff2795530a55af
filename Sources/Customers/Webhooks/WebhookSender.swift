// SPDX-License-Identifier: Apache-2.0

/// A signed request to an endpoint.
package struct WebhookRequest: Sendable {
    package var url: String
    /// Names in lower case, and values.
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]
    /// The span that caused the event; nil if it has none.
    package var traceparent: String?
}

package struct WebhookReply: Hashable, Sendable {
    package var status: Int
    /// The value of `Retry-After`, if the endpoint sent a valid value (RFC 9110 §10.2.3), as a time from now.
    package var retryAfter: Duration?
}

/// The reason why a delivery failed. The raw values appear in metrics.
package enum DeliveryFault: String, Error, CaseIterable, Hashable, Sendable {
    /// The URL is not valid, or not `https`.
    case invalidURL = "invalid_url"
    case resolve
    /// The name resolves to addresses that are not globally reachable.
    case forbiddenAddress = "forbidden_address"
    case connect
    case tls
    case timeout
    /// The connection ended before the answer, or the answer is no HTTP.
    case reset
    case redirect
    /// 410: the endpoint wants nothing more.
    case gone
    /// 429, 502, 503 and 504: it wants less.
    case overloaded
    /// Another status from 400 to 499.
    case rejected
    /// Another status, or an answer that is too large.
    case failed
    case local

    /// Returns the fault of an answer; nil for success, a status from 200 to 299.
    package init?(status: Int) {
        switch status {
        case 200...299: return nil
        case 300...399: self = .redirect
        case 410: self = .gone
        case 429, 502, 503, 504: self = .overloaded
        case 400...499: self = .rejected
        default: self = .failed
        }
    }
}

/// Sends requests to endpoints, without redirects, over connections that nothing else uses.
package protocol WebhookSender: Sendable {
    func send(_ request: WebhookRequest) async throws(DeliveryFault) -> WebhookReply
}

/// An event in the delivery of webhooks, for metrics and logs.
package enum WebhookEvent: Hashable, Sendable {
    case delivered(endpoint: String, after: Duration, took: Duration)
    case failed(endpoint: String, DeliveryFault)
    /// An event is given up, after its last attempt.
    case dead(endpoint: String, DeliveryFault)
    case disabled(endpoint: String)
    /// Events were removed from the log before they were delivered.
    case missed(endpoint: String, count: UInt64?)
}

package typealias WebhookObserver = @Sendable (WebhookEvent) -> Void
