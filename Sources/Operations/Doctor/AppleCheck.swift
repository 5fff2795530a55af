// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Gateway
internal import HTTPTransport
internal import Receipts
internal import Settings

/// Looks at the way to Apple: asks each endpoint about a receipt with nothing in it.
///
/// One such question proves name, route, proxy, TLS and that Apple's service answers, and carries neither a receipt nor a
/// secret: Apple says 21002, "malformed". Nothing short of a genuine receipt tells whether a shared secret is right.
struct AppleCheck {
    let configuration: GatewayConfiguration
    let environment: [String: String]
    let report: CheckReport
    let clock: @Sendable () -> Timestamp

    enum Limits {
        /// For a question.
        static let timeout: Duration = .seconds(8)
        /// `Date` has whole seconds, and an answer may have been on its way for some.
        static let clockDifference: Duration = .seconds(10)
    }

    /// An endpoint and what came of asking it.
    private struct Answer: Sendable {
        let name: String
        let url: UpstreamURL
        let result: Result<VerifyReceiptReply, VerifyReceiptFailure>
        /// When it was asked and when the answer was there.
        let times: (asked: Timestamp, answered: Timestamp)
    }

    func run() async {
        let apple = configuration.apple
        guard apple.isEnabled else {
            return report.ok("endpoints", "gateway.apple.enabled is false: Apple is never asked")
        }
        var transport = TransportConfiguration(apple)
        transport.totalTimeout = min(apple.deadline, Limits.timeout)
        guard let transport = try? HTTPTransport(transport) else {
            return report.fail("endpoints", "the system gives no thread to ask on", do: "Raise its limits (ulimit -u).")
        }
        async let production = ask("production", apple.productionURL, transport)
        async let sandbox = ask("sandbox", apple.sandboxURL, transport)
        let answers = await [production, sandbox]
        for answer in answers { note(answer) }
        noteClock(answers)
    }

    private func ask(_ name: String, _ url: UpstreamURL, _ transport: HTTPTransport) async -> Answer {
        let endpoint = VerifyReceiptEndpoint(url: url.text, transport: transport, now: clock)
        let asked = clock()
        let result: Result<VerifyReceiptReply, VerifyReceiptFailure>
        do throws(VerifyReceiptFailure) {
            result = .success(
                try await endpoint.ask(VerifyReceiptRequest(receipt: []), deadline: .now + Limits.timeout))
        } catch {
            result = .failure(error)
        }
        return Answer(name: name, url: url, result: result, times: (asked, clock()))
    }

    private func note(_ answer: Answer) {
        switch answer.result {
        case .success(let reply):
            let took = reply.head.took.rounded, code = reply.response.status.code
            let way = answer.url.isPlain ? "" : ", its certificate is trusted"
            report.ok(answer.name, "\(answer.url.text): status \(code) to an empty receipt within \(took)\(way)")
        case .failure(.throttled):
            report.warn(
                answer.name, "\(answer.url.text): reached, and answers 429, too many requests",
                do: "Ask less (gateway.apple.max_requests_per_second), or wait: the way there is in order.")
        case .failure(.serverError(let head)):
            report.warn(
                answer.name, "\(answer.url.text): reached, and answers HTTP \(head.httpStatus)",
                do:
                    "Nothing to mend here if that is Apple (see developer.apple.com/system-status); else a proxy says so."
            )
        case .failure(.unexpectedStatus(let head)):
            report.fail(
                answer.name, "\(answer.url.text): something answers HTTP \(head.httpStatus), as Apple does not",
                do:
                    "Correct the URL, or the proxy that answers in Apple's place: it may want a login or forbid the host."
            )
        case .failure(.unusable):
            report.fail(
                answer.name, "\(answer.url.text): something answers HTTP 200, and not as Apple does",
                do: "Correct the URL, or find who answers in Apple's place: a proxy's page, a captive portal.")
        case .failure(.transport(let error)):
            report.fail(answer.name, "\(answer.url.text): \(error.seen(through: proxy))", do: advice(for: error))
        }
    }

    private var proxy: String { configuration.apple.proxy == nil ? "" : " through gateway.apple.proxy" }

    /// Where the way out may be a proxy's that only the environment names, that comes first.
    private func advice(for error: TransportError) -> String {
        let names = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
        if configuration.apple.proxy == nil, error.isMissingWay,
            let name = names.first(where: { environment[$0]?.isEmpty == false })
        {
            return "\(name) is set, and the gateway does not read it: set GATEWAY_APPLE_PROXY."
        }
        return error.advice
    }

    /// By the first answer with a date.
    private func noteClock(_ answers: [Answer]) {
        let seen = answers.lazy.compactMap { answer -> Duration? in
            let head =
                switch answer.result {
                case .success(let reply): reply.head
                case .failure(let failure): failure.head
                }
            return (head?.date).map { answer.times.asked.midpoint(to: answer.times.answered).duration(to: $0) }
        }
        guard let difference = seen.first else { return }
        let skew = configuration.verification.clockSkew
        switch difference.magnitude {
        case ...Limits.clockDifference:
            report.ok("clock", "the same as here, within \(Limits.clockDifference.configurationText)")
        case ...skew:
            report.warn("clock", "Apple is \(difference.ahead) this machine", do: "Synchronise the clock (NTP).")
        default:
            report.fail(
                "clock",
                "Apple is \(difference.ahead) this machine, more than gateway.verification.clock_skew: new receipts "
                    + "may seem to be from the future", do: "Synchronise the clock (NTP).")
        }
    }
}

extension TransportError {
    /// What was seen, which is never about a secret: none was sent.
    fileprivate func seen(through proxy: String) -> String {
        switch self {
        case .resolve: "the name has no address\(proxy)"
        case .forbiddenAddress: "the name stands for a private address"
        case .connect: "no connection\(proxy): refused, or no route"
        case .proxy: "gateway.apple.proxy cannot be reached, or refuses"
        case .tlsHandshake: "connected\(proxy), and no TLS came about"
        case .tlsVerification:
            "connected\(proxy), and the certificate is not trusted, not for this host, or not valid now"
        case .trustStore: "the authorities to trust cannot be read"
        case .timeout(.connecting): "no connection in time\(proxy): packets seem to be dropped"
        case .timeout: "connected\(proxy), and no answer in time"
        case .reset: "the connection\(proxy) ended before the answer"
        case .tooLarge, .protocolViolation: "what answers\(proxy) is not Apple"
        case .invalidURL, .insecureURL, .invalidHeader, .tooManyRequests, .cancelled, .shuttingDown:
            "could not be asked"
        case .internal(let code): "could not be asked: libcurl's error \(code)"
        }
    }

    /// What to do.
    fileprivate var advice: String {
        switch self {
        case .resolve: "Mend DNS (/etc/resolv.conf), or set GATEWAY_APPLE_PROXY if only a proxy leads out."
        case .forbiddenAddress:
            "Find out why DNS answers so; GATEWAY_APPLE_ALLOW_PRIVATE_ADDRESSES=true if it is meant."
        case .connect, .timeout(.connecting):
            "Allow this machine out to Apple on port 443 (firewall, egress policy), or set GATEWAY_APPLE_PROXY."
        case .proxy: "Check its address, and that it allows CONNECT to Apple on port 443."
        case .tlsHandshake, .tlsVerification:
            "If a proxy opens TLS here, trust its authority with GATEWAY_APPLE_CA_FILE; else look who answers, and at the "
                + "clock."
        case .trustStore: "Install ca-certificates, or set GATEWAY_APPLE_CA_FILE."
        case .timeout, .reset, .tooLarge, .protocolViolation:
            "Look again; if it stays, ask who runs the network what stands between this machine and Apple."
        case .invalidURL, .insecureURL, .invalidHeader, .tooManyRequests, .cancelled, .shuttingDown, .internal:
            "Look again; if it stays, report it as a bug."
        }
    }

    /// Whether there was no way out at all.
    fileprivate var isMissingWay: Bool {
        switch self {
        case .resolve, .connect, .timeout(.connecting), .forbiddenAddress: true
        default: false
        }
    }
}
