// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Clients
internal import Gateway
internal import HTTPClient
internal import Receipts
internal import Settings

extension AreaCheck {
    private enum AppleLimits {
        static let timeout: Duration = .seconds(8)
        /// `Date` has whole seconds, and the answer takes some time to arrive.
        static let clockDifference: Duration = .seconds(10)
    }

    private struct Answer: Sendable {
        let name: String
        let url: UpstreamURL
        let result: Result<VerifyReceiptReply, VerifyReceiptFailure>
        let times: (sent: Timestamp, answered: Timestamp)
    }

    /// Checks the endpoints of `verifyReceipt` with an empty receipt each, and the endpoints of the App Store Server
    /// API with the keys.
    ///
    /// An empty receipt proves DNS, route, proxy, TLS and Apple's service, and carries neither a receipt nor a secret:
    /// Apple answers 21002, "malformed". Only a genuine receipt can test a shared secret.
    func checkApple() async {
        let apple = configuration.apple
        guard apple.isEnabled else {
            return report.ok("endpoints", "gateway.apple.enabled is false: no requests are sent to Apple")
        }
        var transport = TransportConfiguration(apple)
        transport.totalTimeout = min(apple.timeouts.deadline, AppleLimits.timeout)
        guard let transport = try? HTTPTransport(transport) else {
            return report.fail("endpoints", "the system allows no further thread", do: "Raise its limits (ulimit -u).")
        }
        async let production = check("production", apple.productionURL, transport)
        async let sandbox = check("sandbox", apple.sandboxURL, transport)
        async let keys = tryKeys(with: transport)
        let answers = await [production, sandbox]
        for answer in answers { record(answer) }
        checkClock(answers)
        record(await keys)
    }

    private func check(_ name: String, _ url: UpstreamURL, _ transport: HTTPTransport) async -> Answer {
        let endpoint = VerifyReceiptEndpoint(url: url.text, transport: transport, now: clock)
        let sent = clock()
        let result: Result<VerifyReceiptReply, VerifyReceiptFailure>
        do throws(VerifyReceiptFailure) {
            result = .success(
                try await endpoint.send(VerifyReceiptRequest(receipt: []), deadline: .now + AppleLimits.timeout))
        } catch {
            result = .failure(error)
        }
        return Answer(name: name, url: url, result: result, times: (sent, clock()))
    }

    private func record(_ answer: Answer) {
        let name = answer.name, url = answer.url.text
        switch answer.result {
        case .success(let reply):
            let took = reply.head.took.rounded, code = reply.response.status.code
            let way = answer.url.isPlain ? "" : ", trusted certificate"
            report.ok(name, "\(url): status \(code) to an empty receipt within \(took)\(way)")
        case .failure(.throttled):
            report.warn(
                name, "\(url): reached, and answers 429, too many requests",
                do: "Wait, or lower gateway.apple.max_requests_per_second; the connection works.")
        case .failure(.serverError(let head)):
            report.warn(
                name, "\(url): reached, and answers HTTP \(head.httpStatus)",
                do: "If Apple sent this (see developer.apple.com/system-status), wait; otherwise check the proxy.")
        case .failure(.unexpectedStatus(let head)):
            report.fail(
                name, "\(url): HTTP \(head.httpStatus), which is not Apple's answer",
                do: "Correct the URL, or the proxy that answers instead: it may require a login or block the host.")
        case .failure(.unusable):
            report.fail(
                name, "\(url): HTTP 200, but not Apple's answer",
                do: "Correct the URL, or find what answers instead: a proxy's page or a captive portal.")
        case .failure(.transport(let error)):
            report.fail(name, "\(url): \(error.seen(through: proxy))", do: advice(for: error))
        }
    }

    private var proxy: String { configuration.apple.proxy == nil ? "" : " through gateway.apple.proxy" }

    /// Returns what to do. A proxy that only the environment names is mentioned first.
    private func advice(for error: TransportError) -> String {
        error.isMissingWay ? unreadProxyAdvice ?? error.advice : error.advice
    }

    /// Returns what to do if only the environment names a proxy; nil otherwise.
    var unreadProxyAdvice: String? {
        let names = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
        guard configuration.apple.proxy == nil,
            let name = names.first(where: { environment[$0]?.isEmpty == false })
        else { return nil }
        return "\(name) is set, and the gateway does not read it: set GATEWAY_APPLE_PROXY."
    }

    private func checkClock(_ answers: [Answer]) {
        let seen = answers.lazy.compactMap { answer -> Duration? in
            let head =
                switch answer.result {
                case .success(let reply): reply.head
                case .failure(let failure): failure.head
                }
            return (head?.date).map { answer.times.sent.midpoint(to: answer.times.answered).duration(to: $0) }
        }
        guard let difference = seen.first else { return }
        let skew = configuration.verification.clockSkew
        switch difference.magnitude {
        case ...AppleLimits.clockDifference:
            report.ok("clock", "differs from Apple's by less than \(AppleLimits.clockDifference.configurationText)")
        case ...skew:
            report.warn("clock", "Apple is \(difference.ahead) this machine", do: "Synchronise the clock (NTP).")
        default:
            report.fail(
                "clock",
                "Apple is \(difference.ahead) this machine, more than gateway.verification.clock_skew: new receipts "
                    + "may appear to be from the future", do: "Synchronise the clock (NTP).")
        }
    }
}

extension TransportError {
    /// The observation. It contains no secret, because none was sent.
    fileprivate func seen(through proxy: String) -> String {
        switch self {
        case .resolve: "the name has no address\(proxy)"
        case .forbiddenAddress: "the name resolves to a private address"
        case .connect: "no connection\(proxy): refused or no route"
        case .proxy: "gateway.apple.proxy is unreachable or refuses the connection"
        case .tlsHandshake: "connected\(proxy), but the TLS handshake failed"
        case .tlsVerification:
            "connected\(proxy), but the certificate is not trusted, not for this host or not valid now"
        case .trustStore: "the trusted CA certificates cannot be read"
        case .timeout(.connecting): "connecting\(proxy) timed out: packets seem to be dropped"
        case .timeout: "connected\(proxy), but the answer timed out"
        case .reset: "the connection\(proxy) ended before the answer"
        case .tooLarge, .protocolViolation: "the answer\(proxy) is not Apple's"
        case .invalidURL, .insecureURL, .invalidHeader, .tooManyRequests, .cancelled, .shuttingDown:
            "the request was not sent"
        case .internal(let code): "the request was not sent: libcurl error \(code)"
        }
    }

    var advice: String {
        switch self {
        case .resolve: "Fix DNS (/etc/resolv.conf), or set GATEWAY_APPLE_PROXY if only a proxy has Internet access."
        case .forbiddenAddress:
            "Check DNS; set GATEWAY_APPLE_ALLOW_PRIVATE_ADDRESSES=true if this is intended."
        case .connect, .timeout(.connecting):
            "Allow connections to Apple on port 443 (firewall, egress policy), or set GATEWAY_APPLE_PROXY."
        case .proxy: "Check its address, and that it allows CONNECT to Apple on port 443."
        case .tlsHandshake, .tlsVerification:
            "If a proxy intercepts TLS, trust its CA with GATEWAY_APPLE_CA_FILE; otherwise check the endpoint and the "
                + "clock."
        case .trustStore: "Install ca-certificates, or set GATEWAY_APPLE_CA_FILE."
        case .timeout, .reset, .tooLarge, .protocolViolation:
            "Run the doctor again; if it persists, check the network's proxies and firewalls."
        case .invalidURL, .insecureURL, .invalidHeader, .tooManyRequests, .cancelled, .shuttingDown, .internal:
            "Run the doctor again; if it persists, report it as a bug."
        }
    }

    fileprivate var isMissingWay: Bool {
        switch self {
        case .resolve, .connect, .timeout(.connecting), .forbiddenAddress: true
        default: false
        }
    }
}

extension Duration {
    /// The duration for people: `0.14 ms`, `23 ms`, `1.7 s`.
    var rounded: String {
        let milliseconds = self / .milliseconds(1)
        switch abs(milliseconds) {
        case ..<1: return "\((milliseconds * 100).rounded() / 100) ms"
        case ..<1000: return "\(Int(milliseconds.rounded())) ms"
        default: return "\((milliseconds / 100).rounded() / 10) s"
        }
    }

    /// A clock's difference, before the name of the other clock: `3.0 s ahead of`, `12.5 s behind`.
    var ahead: String { self < .zero ? "\(magnitude.rounded) behind" : "\(rounded) ahead of" }
}

extension Timestamp {
    func midpoint(to other: Timestamp) -> Timestamp {
        advanced(by: duration(to: other) / 2)
    }
}
