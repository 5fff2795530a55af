// SPDX-License-Identifier: Apache-2.0

package import Clients
internal import Cryptography
package import Customers
package import Gateway
package import HTTPServer
package import Receipts
package import RedisStore
package import Telemetry

/// All settings, with their defaults.
///
/// Plain values, independent of environment and files. `ConfigurationKeys` has the name and range of each setting,
/// docs/configuration.md its meaning.
package struct GatewayConfiguration: Hashable, Sendable {
    package var http = HTTPConfiguration()
    /// The admin plane, for the orchestrator and Prometheus.
    package var admin = ListenerConfiguration(host: "127.0.0.1", port: 9090)
    package var adminHostNames = HostNames()
    package var shutdown = ShutdownConfiguration()
    package var trustRoots: [TrustRoot] = []
    package var intermediatesFile: String?
    package var clientsFile: String?
    var apiKeyPepper: Secret?
    package var log = LogConfiguration()
    package var nearCacheSize = ByteCount.mebibytes(64)
    package var signedItemCacheSize = ByteCount.mebibytes(32)
    /// The keys that name and encrypt everything in Redis: `StoreKeys`.
    package var cacheKeys: StoreKeys?
    package var verification = VerificationPolicy()
    package var signedAnswers = SignedAnswersConfiguration()
    package var apple = AppleConfiguration()
    package var redis = RedisConfiguration()
    package var form = FormConfiguration()
    /// The pages in WebViews that may read the answers of the plugins' routes.
    package var pluginOrigins = WebOrigins.ofApps
    package var notifications = NotificationsConfiguration()
    package var events = EventsConfiguration()
    package var webhooks = WebhooksConfiguration()
    package var jobs = JobRules()
    package var ownership = OwnershipRules()
    package var comparison = ComparisonRules()
    package var traces = TracesConfiguration()
}

/// Apple's server notifications: `POST /apple/notifications`.
package struct NotificationsConfiguration: Hashable, Sendable {
    /// The last segment of the path; nil to accept `/apple/notifications` itself.
    package var token: NotificationToken?
    package var backlog = ByteCount.mebibytes(256)
    package var replicas = 0
    package var allowsVolatile = false
    package var recoveryInterval: Duration = .seconds(3600)
}

/// The transport of webhooks. The endpoints are in the clients file.
package struct WebhooksConfiguration: Hashable, Sendable {
    package var allowsPrivateAddresses = false
    package var allowsPlainHTTP = false
    package var caFile: String?
    package var proxy: ProxyURL?
    package var timeout: Duration = .seconds(15)
    package var concurrency = 16
}

extension ComparisonMode: ConfigurationValue {}

extension Int {
    /// A number of bytes as the value of a setting.
    var byteCount: ByteCount {
        get { .bytes(self) }
        set { self = newValue.bytes }
    }
}

extension GatewayConfiguration {
    /// The problems of settings that are valid by themselves, but not together.
    var contradictions: [ConfigurationProblem] {
        let limits = http.limits
        let known: [(isFound: Bool, location: String, fault: String)] = [
            // Without API keys, any client that reaches the port could use the gateway.
            (
                clientsFile == nil && !Loopback.contains(http.listener.host), "gateway.http.host",
                """
                "\(http.listener.host)" is reachable from the network, and no clients are configured. Either listen on \
                127.0.0.1, or make an API key with `receipt-gateway hash-key`, paste what it prints into a clients \
                file, and set GATEWAY_CLIENTS_FILE (gateway.clients_file) to its path and GATEWAY_API_KEY_PEPPER to \
                the pepper it was made with
                """
            ),
            (
                clientsFile != nil && apiKeyPepper == nil, "gateway.api_key_pepper",
                """
                is missing, and the keys in the clients file cannot be checked without it; set GATEWAY_API_KEY_PEPPER \
                or GATEWAY_API_KEY_PEPPER_FILE to the pepper `receipt-gateway hash-key` was used with
                """
            ),
            (
                limits.body > limits.bodiesInFlight, "gateway.http.limits.body",
                """
                is \(limits.body.configurationText), more than the limit for all bodies together \
                (gateway.http.limits.bodies_in_flight is \(limits.bodiesInFlight.configurationText))
                """
            ),
            (
                redis.url != nil && cacheKeys == nil, "gateway.cache.keys",
                """
                is missing, and the gateway stores only encrypted values in Redis; set GATEWAY_CACHE_KEYS or \
                GATEWAY_CACHE_KEYS_FILE, with equal keys on all nodes: \(StoreKeys.recipe)
                """
            ),
            (
                http.listener.conflicts(with: admin), "gateway.admin.port",
                """
                is \(admin.port), and so is gateway.http.port: the data plane and the admin plane cannot listen on one \
                port; set GATEWAY_ADMIN_PORT or GATEWAY_HTTP_PORT to another
                """
            ),
            (
                apple.isEnabled && http.deadlines.answer < apple.timeouts.deadline, "gateway.http.deadlines.answer",
                """
                is \(http.deadlines.answer.configurationText), less than gateway.apple.deadline \
                (\(apple.timeouts.deadline.configurationText)): requests that wait for Apple would get no answer; raise the \
                first, or lower the second
                """
            ),
            (
                comparison.mode != .off && !apple.isEnabled, "gateway.comparison.mode",
                """
                is \(comparison.mode.rawValue), and gateway.apple.enabled is false: each comparison needs answers of Apple; \
                remove the first, or set the second to true
                """
            ),
        ]
        return known.filter(\.isFound).map { ConfigurationProblem(location: $0.location, fault: $0.fault) }
            + redis.contradictions + traces.contradictions
    }

    /// The files that are read once, and their settings.
    var peerFiles: [(setting: String, path: String)] {
        let files = [
            ("gateway.apple.ca_file", apple.caFile), ("gateway.redis.ca_file", redis.caFile),
            ("gateway.redis.certificate_file", redis.certificateFile), ("gateway.redis.key_file", redis.keyFile),
            ("gateway.webhooks.ca_file", webhooks.caFile), ("gateway.traces.ca_file", traces.caFile),
        ]
        return files.compactMap { name, path in path.map { (name, $0) } }
    }

    /// The problems of these files. The libraries that read them later give no reasons, and accept files without
    /// certificates.
    func fileProblems(readFile: FileReader) -> [ConfigurationProblem] {
        peerFiles.compactMap { setting, path in
            do throws(FileFault) {
                let text = try readFile(path)
                guard setting != "gateway.redis.key_file", let fault = PEM.fault(of: text) else { return nil }
                return ConfigurationProblem(location: setting, fault: "\(path) \(fault)")
            } catch {
                let shown = TextFile.shown(path)
                return ConfigurationProblem(location: setting, fault: "\(shown) \(error.description)")
            }
        }
    }
}

extension PEM {
    /// Returns the fault of a text that should have certificates; nil if there is none.
    fileprivate static func fault(of text: String) -> TrustAnchorError? {
        do throws(TrustAnchorError) {
            _ = try certificates(in: text)
            return nil
        } catch {
            // OpenSSL, which reads the file later, knows two more labels.
            let labels = ["TRUSTED", "X509"].map { "-----BEGIN \($0) CERTIFICATE-----" }
            return error == .noCertificate && labels.contains { text.contains($0) } ? nil : error
        }
    }
}
