// SPDX-License-Identifier: Apache-2.0

package import HTTPClient

/// Sends webhooks over a transport that nothing else uses, so that a slow endpoint cannot delay requests to Apple. It
/// has room for each endpoint with the most attempts in flight that the dispatcher permits, and as many connections to
/// one host: an endpoint that holds all its attempts takes none from another, even on the same host.
package struct HTTPWebhookSender: WebhookSender {
    package enum Limits {
        /// The size of an answer, which is not read.
        package static let responseBytes = 64 * 1024
        package static let responseHeaderBytes = 32 * 1024
        /// The limit for name resolution, TCP and TLS together.
        static let connectTimeout: Duration = .seconds(5)
    }

    private let transport: HTTPTransport
    private let timeout: Duration

    /// - Parameters:
    ///   - configuration: the addresses, authorities and proxy; its limits are replaced.
    ///   - maximumEndpoints: the maximum number of endpoints.
    ///   - concurrency: the maximum number of attempts in flight to one endpoint.
    ///   - timeout: the limit for one attempt.
    /// - Throws: `.trustStore` if the CA file cannot be read, `.internal` if the system refuses a thread.
    package init(
        _ configuration: TransportConfiguration, maximumEndpoints: Int, concurrency: Int, timeout: Duration
    ) throws(TransportError) {
        var configuration = configuration
        configuration.maximumRequests = maximumEndpoints * concurrency
        configuration.maximumConnectionsPerHost = configuration.maximumRequests
        configuration.sharesNewConnections = false
        configuration.maximumResponseBytes = Limits.responseBytes
        configuration.maximumHeaderBytes = Limits.responseHeaderBytes
        configuration.connectTimeout = min(timeout, Limits.connectTimeout)
        configuration.totalTimeout = timeout
        transport = try HTTPTransport(configuration)
        self.timeout = timeout
    }

    package func send(_ request: WebhookRequest) async throws(DeliveryFault) -> WebhookReply {
        // Repeatable: an event that arrives twice has the same ID, and a new connection for each would cost a handshake.
        let post = TransportRequest(
            .post, url: request.url, headers: request.headers.map { TransportHeader(name: $0.name, value: $0.value) },
            body: request.body)
        do throws(TransportError) {
            let response = try await transport.send(post, deadline: .now + timeout)
            return WebhookReply(status: response.status, retryAfter: response.retryAfter)
        } catch {
            throw DeliveryFault(error)
        }
    }

    /// Rejects new attempts, and waits for those in flight.
    package func shutdown() async { await transport.shutdown() }
}

extension DeliveryFault {
    package init(_ error: TransportError) {
        switch error {
        case .invalidURL, .insecureURL: self = .invalidURL
        case .resolve: self = .resolve
        case .forbiddenAddress: self = .forbiddenAddress
        case .connect, .proxy: self = .connect
        case .tlsHandshake, .tlsVerification: self = .tls
        case .timeout: self = .timeout
        case .reset, .protocolViolation: self = .reset
        // The status may be 200, but a server that answers an event with a whole page is no endpoint for events.
        case .tooLarge: self = .failed
        case .invalidHeader, .tooManyRequests, .trustStore, .cancelled, .shuttingDown, .internal: self = .local
        }
    }
}
