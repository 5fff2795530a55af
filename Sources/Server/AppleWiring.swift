// SPDX-License-Identifier: Apache-2.0

internal import API
internal import AppStore
internal import Clients
internal import Customers
internal import Gateway
internal import HTTPClient
internal import HTTPServer
internal import RedisStore
internal import Resilience
internal import Settings
internal import Telemetry

struct AppleConnection: Sendable {
    let verification: UpstreamVerification
    let invalidation: CacheInvalidation
    /// Calls the App Store Server API, for the apps that have a key.
    let serverAPI: ServerAPIClient
    let transport: HTTPTransport

    /// Creates the connection as configured; nil if Apple is disabled.
    /// - Parameter lookups: records the answers about customers; nil for none.
    /// - Throws: the faults of the files that the configuration names.
    init?(
        _ configuration: AppleConfiguration, access: CurrentAccess, upstreams: UpstreamState,
        fleet: FleetStore, lookups: LookupStateRecorder? = nil, verifier: CurrentVerifier,
        observe: @escaping UpstreamObserver, tracing: RequestTracing = .off,
        in dependencies: Dependencies
    ) throws(ConfigurationProblems) {
        guard configuration.isEnabled else { return nil }
        do throws(TransportError) {
            transport = try HTTPTransport(TransportConfiguration(configuration))
        } catch {
            throw ConfigurationProblems(error, configuration.caFile ?? "gateway.apple", to: "Apple")
        }
        let clock = dependencies.clock, follow = Self.follow(tracing, configuration)
        let upstream = VerifyReceiptUpstream(
            production: VerifyReceiptEndpoint(
                url: configuration.productionURL.text, transport: transport, now: clock),
            sandbox: VerifyReceiptEndpoint(url: configuration.sandboxURL.text, transport: transport, now: clock),
            secrets: { access.now.rules.secrets.secret(forApp: $0) }, lifecycle: upstreams.lifecycle,
            fleetState: fleet.ports.fleetState, logger: dependencies.logger, follow: follow)
        serverAPI = ServerAPIClient(
            keys: { access.now.rules.serverAPIKeys }, hosts: ServerAPIHosts(configuration.serverAPI),
            budget: configuration.serverAPI.budget, transport: transport, upstreams: upstreams,
            limiter: fleet.ports.limiter, fleetState: fleet.ports.fleetState, verifier: verifier, observe: observe,
            logger: dependencies.logger, follow: follow, clock: clock)
        var ports = fleet.ports
        if fleet.service != nil { ports.cache = tracing.traced(ports.cache) }
        let customers = ServerAPICustomerLookup(serverAPI)
        let connection = UpstreamConnection(
            upstream, customers: lookups?.recording(customers) ?? customers,
            receiptUpstream: { access.now.rules.receiptUpstreams.upstream(forApp: $0) }, guards: upstreams.guards,
            lifecycle: upstreams.lifecycle,
            timeouts: configuration.timeouts)
        verification = UpstreamVerification(
            connection, fleet: ports, policy: CachePolicy(randomness: CLibrary.exponential), observe: observe,
            clock: clock)
        invalidation = CacheInvalidation(ports.cache.purges, observe: observe)
    }

    /// Creates a span for each request to Apple, and records it with the client's request.
    private static func follow(
        _ tracing: RequestTracing, _ configuration: AppleConfiguration
    ) -> RequestTracer {
        let hosts = Dictionary(
            uniqueKeysWithValues: UpstreamEndpoint.allCases.map { ($0, configuration.url(of: $0).host) })
        return { endpoint, method, request in
            let host = hosts[endpoint]
            _ = await RequestContext.recording(endpoint) {
                await tracing.sending(endpoint, at: host, method: method, request)
            }
        }
    }
}

extension UpstreamState {
    init(_ configuration: AppleConfiguration) {
        self.init(
            guards: UpstreamGuards(UpstreamGuardPolicy(configuration)),
            lifecycle: UpstreamLifecycle(
                configured: LifecycleDates(deprecation: configuration.deprecation, sunset: configuration.sunset)))
    }
}

extension UpstreamGuardPolicy {
    init(_ configuration: AppleConfiguration) {
        self.init()
        breakerMode = configuration.breaker
        // A probe is not lost before the deadline of a request has passed.
        breaker = CircuitBreaker.Policy(probeLease: configuration.timeouts.deadline + .seconds(5))
        concurrency = ConcurrencyLimit.Policy(maximum: configuration.concurrency)
        guard configuration.maximumRequestsPerSecond > 0 else { return }
        budget = RatePolicy(name: "apple", quota: configuration.maximumRequestsPerSecond, window: .seconds(1))
    }
}

extension ConfigurationProblems {
    /// - Parameters:
    ///   - location: the file with CA certificates, or the settings of the transport.
    ///   - note: follows the fault of a file.
    init(_ error: TransportError, _ location: String, to peers: String, note: String = "") {
        self.init(
            location,
            error == .trustStore
                ? "is not a PEM file with readable certificates\(note)" : "connections to \(peers) cannot be set up")
    }
}
