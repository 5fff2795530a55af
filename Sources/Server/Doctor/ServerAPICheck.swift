// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Clients
internal import Gateway
internal import HTTPClient
internal import Logging
internal import Receipts
internal import Resilience
internal import Settings

/// The reply of one host to a call that a key signed.
enum KeyReply: Hashable, Sendable {
    case accepted
    /// 401.
    case rejected
    case unanswered(DegradedReason)

    init(_ result: ServerAPIResult) {
        switch result {
        // Apple reads a call only after it has accepted the token.
        case .answered, .refused: self = .accepted
        case .unauthorized: self = .rejected
        case .unanswered(let reason, _, _): self = .unanswered(reason)
        }
    }

    fileprivate var fault: DegradedReason? {
        if case .unanswered(let reason) = self { reason } else { nil }
    }
}

/// The replies of both hosts to calls that a key signed for an app.
struct KeyReplies: Hashable, Sendable {
    let production: KeyReply
    let sandbox: KeyReply
}

/// A key, and the replies that it got for one app or several.
private struct KeyOutcome: Hashable {
    let key: ServerAPIKey
    let replies: KeyReplies
}

struct TriedKeys: Sendable {
    let keys: ServerAPIKeys
    /// The apps with a key, those with their own first.
    let bundleIDs: [String]
    /// By app, of the first of these.
    var replies: [String: KeyReplies] = [:]
}

extension AreaCheck {
    enum ServerAPILimits {
        /// The maximum number of apps whose key is tried: each takes two calls.
        static let apps = 8
        static let timeout: Duration = .seconds(8)
        /// A transaction that no customer has.
        static let transactionID = "0"
    }

    /// Tries the key of each app with a signed call to both hosts of the App Store Server API.
    ///
    /// The call is about a transaction that does not exist, so it names no customer. Apple answers with an error code
    /// if it accepts the key, and with 401 otherwise.
    func tryKeys(with transport: HTTPTransport) async -> TriedKeys {
        let rules = AccessRules(configuration, try? ClientsFile(configuration, at: clock()))
        let keys = rules.serverAPIKeys
        let bundleIDs = rules.knownApps.filter { keys.key(forApp: $0) != nil }
            .sorted { (keys.ofApps[$0] == nil ? 1 : 0, $0) < (keys.ofApps[$1] == nil ? 1 : 0, $1) }
        let tried = Array(bundleIDs.prefix(ServerAPILimits.apps))
        return TriedKeys(keys: keys, bundleIDs: bundleIDs, replies: await replies(forApps: tried, keys, transport))
    }

    private func replies(
        forApps bundleIDs: [String], _ keys: ServerAPIKeys, _ transport: HTTPTransport
    ) async -> [String: KeyReplies] {
        let client = ServerAPIClient(keys, configuration.apple, transport, clock: clock)
        return await withTaskGroup(of: (String, KeyReplies?).self) { group in
            for bundleID in bundleIDs {
                group.addTask { (bundleID, await Self.replies(forApp: bundleID, client)) }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }

    private static func replies(forApp bundleID: String, _ client: ServerAPIClient) async -> KeyReplies? {
        guard let call = try? ServerAPICall(.transactionInfo, [ServerAPILimits.transactionID]) else { return nil }
        @Sendable func reply(_ environment: UpstreamEnvironment) async -> KeyReply {
            let request = ServerAPIRequest(call, bundleID: bundleID, environment: environment, share: .full)
            return KeyReply(await client.send(request, deadline: .now + ServerAPILimits.timeout))
        }
        async let production = reply(.production)
        async let sandbox = reply(.sandbox)
        return await KeyReplies(production: production, sandbox: sandbox)
    }

    func record(_ tried: TriedKeys) {
        recordSelection(of: tried)
        recordNumbers(of: tried.bundleIDs.filter { tried.keys.appAppleIDs[$0] == nil })
        let bundleIDs = tried.replies.keys.sorted()
        guard !bundleIDs.isEmpty else { return }
        let replies = bundleIDs.compactMap { tried.replies[$0] }, hosts = configuration.apple.serverAPI
        record("production", hosts.productionURL, replies.map(\.production))
        record("sandbox", hosts.sandboxURL, replies.map(\.sandbox))
        // One line for all apps of a key with the same replies: one fault needs one advice.
        var groups: [KeyOutcome: [String]] = [:]
        for bundleID in bundleIDs {
            guard let key = tried.keys.key(forApp: bundleID), let replies = tried.replies[bundleID] else { continue }
            groups[KeyOutcome(key: key, replies: replies), default: []].append(bundleID)
        }
        for (outcome, apps) in groups.sorted(by: { $0.value[0] < $1.value[0] }) { record(outcome, forApps: apps) }
    }

    private func recordSelection(of tried: TriedKeys) {
        let bundleIDs = tried.bundleIDs
        if tried.keys.all.isEmpty {
            report.ok("server_api", "no key of the App Store Server API is set")
        } else if bundleIDs.isEmpty {
            report.warn(
                "server_api", "there is a key of the App Store Server API, but no app to try it with",
                do: "Name an app in the clients file: in `apps` of a client, or in the list `apps`.")
        } else if bundleIDs.count > ServerAPILimits.apps {
            let count = ServerAPILimits.apps
            report.ok("server_api", "\(bundleIDs.count) apps have a key; the keys of the first \(count) are tried")
        } else {
            report.ok("server_api", "apps with a key: \(bundleIDs.listed)")
        }
    }

    /// Records the apps whose number is unknown, which is no fault.
    private func recordNumbers(of bundleIDs: [String]) {
        guard !bundleIDs.isEmpty else { return }
        report.ok("app_apple_id", "not set for \(bundleIDs.listed): Apple's answers are checked without it")
    }

    /// Records the state of a host, once for all keys.
    private func record(_ name: String, _ url: UpstreamBaseURL, _ replies: [KeyReply]) {
        let subject = "server_api.\(name)"
        guard let fault = replies.lazy.compactMap(\.fault).first else {
            return report.ok(subject, "\(url.text): answers signed calls")
        }
        let observation = fault.observation
        let isMissing = fault == .upstreamUnreachable || fault == .upstreamTimeout
        report.record(
            subject, observation.level, "\(url.text): \(observation.seen)",
            isMissing ? unreadProxyAdvice ?? observation.advice : observation.advice)
    }

    /// Records the replies to a key, which were equal for these apps.
    private func record(_ outcome: KeyOutcome, forApps bundleIDs: [String]) {
        let subject = "server_api:\(bundleIDs[0].printable())"
        let key = "the key \(outcome.key.keyID) for \(bundleIDs.listed)"
        switch (outcome.replies.production, outcome.replies.sandbox) {
        case (.accepted, .accepted): report.ok(subject, "Apple accepts \(key) in production and in the sandbox")
        case (.rejected, .accepted):
            report.ok(
                subject,
                "Apple accepts \(key) in the sandbox; 401 in production is usual until the app is released")
        case (.accepted, .unanswered): report.ok(subject, "Apple accepts \(key) in production")
        case (.unanswered, .accepted): report.ok(subject, "Apple accepts \(key) in the sandbox")
        case (.rejected, .rejected):
            report.fail(
                subject, "Apple rejects \(key): 401 in production and in the sandbox", do: Self.keyAdvice)
        case (.accepted, .rejected):
            report.warn(
                subject, "Apple accepts \(key) in production, but rejects it in the sandbox: 401", do: Self.keyAdvice)
        case (.rejected, .unanswered), (.unanswered, .rejected):
            report.warn(
                subject, "one host rejects \(key) with 401, and the other did not answer",
                do: "Run the doctor again when both answer.")
        // The hosts' lines say why.
        case (.unanswered, .unanswered): break
        }
    }

    private static let keyAdvice = """
        Check in App Store Connect (Users and Access, Integrations, In-App Purchase) that the key is active, that \
        `issuer_id` and `key_id` are its own, and that the app belongs to that account. Check this machine's clock.
        """
}

extension DegradedReason {
    /// The observation about a host that did not answer a call. The budget, the breaker and the concurrency limit are
    /// the doctor's own, and never used up.
    fileprivate var observation: (level: CheckResult.Level, seen: String, advice: String) {
        switch self {
        case .upstreamPaused:
            (.warning, "reached, and answers that there are too many requests", "Wait; the connection works.")
        case .upstreamServerError, .upstreamUnavailable:
            (
                .warning, "reached, and answers with a server error",
                "If Apple sent this (see developer.apple.com/system-status), wait; otherwise check the proxy."
            )
        case .upstreamUnreachable:
            (.failed, "no connection: the name has no address, or no server accepts", TransportError.connect.advice)
        case .upstreamTLS:
            (
                .failed, "connected, but TLS failed or the certificate is not trusted",
                TransportError.tlsVerification.advice
            )
        case .upstreamTimeout: (.failed, "the answer timed out", TransportError.connect.advice)
        case .upstreamReset: (.failed, "the connection ended before the answer", TransportError.reset.advice)
        default:
            (
                .failed, "answers, but not as Apple does (\(rawValue))",
                "Correct the URL, or the proxy that answers instead: it may require a login or block the host."
            )
        }
    }
}

extension ServerAPIClient {
    /// Creates a client for the doctor: it shares nothing with the fleet, and no fault suspends its calls.
    fileprivate convenience init(
        _ keys: ServerAPIKeys, _ configuration: AppleConfiguration, _ transport: HTTPTransport,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        var policy = UpstreamGuardPolicy()
        policy.breakerMode = .forcedClosed
        self.init(
            keys: { keys }, hosts: ServerAPIHosts(configuration.serverAPI), budget: ServerAPIBudget(),
            transport: transport,
            upstreams: UpstreamState(guards: UpstreamGuards(policy), lifecycle: UpstreamLifecycle()),
            limiter: EmbeddedRateLimiter(), fleetState: EmbeddedFleetState(),
            verifier: CurrentVerifier(ReceiptVerifier()),
            observe: { _ in }, logger: Logger(label: "doctor") { _ in SwiftLogNoOpLogHandler() }, clock: clock)
    }
}
