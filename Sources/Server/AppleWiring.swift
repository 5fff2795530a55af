// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Gateway
internal import HTTPServer
internal import HTTPTransport
internal import Logging
internal import RateLimits
internal import Receipts
internal import RedisStore
internal import Resilience
internal import ServiceLifecycle
internal import Settings
internal import Telemetry

/// The way to Apple.
struct AppleConnection: Sendable {
    /// Asks, and decides when not to.
    let verification: UpstreamVerification
    /// Purges what Apple said.
    let invalidation: CacheInvalidation
    /// Moves the bytes.
    let transport: HTTPTransport
}

extension AppleConnection {
    /// The way to Apple as configured; nil if Apple is not to be asked.
    /// - Throws: what is wrong with the files the configuration names.
    init?(
        _ configuration: AppleConfiguration, access: CurrentAccess, upstreams: UpstreamState,
        fleet: FleetStore, verifier: ReceiptVerifier, observer: any UpstreamObserver,
        in dependencies: Dependencies
    ) throws(ConfigurationProblems) {
        guard configuration.isEnabled else { return nil }
        do throws(TransportError) {
            transport = try HTTPTransport(TransportConfiguration(configuration))
        } catch {
            throw ConfigurationProblems(problems: [ConfigurationProblem(error, caFile: configuration.caFile)])
        }
        let clock = dependencies.clock
        let upstream = VerifyReceiptUpstream(
            production: VerifyReceiptEndpoint(
                url: configuration.productionURL.text, transport: transport, now: clock),
            sandbox: VerifyReceiptEndpoint(url: configuration.sandboxURL.text, transport: transport, now: clock),
            secrets: { access.now.rules.secrets.secret(forApp: $0) }, lifecycle: upstreams.lifecycle,
            fleetState: fleet.ports.fleetState, logger: dependencies.logger,
            follow: Self.follow(dependencies.tracing, configuration))
        var ports = fleet.ports
        if fleet.service != nil { ports.cache = dependencies.tracing.traced(ports.cache) }
        let connection = UpstreamConnection(
            upstream, guards: upstreams.guards, lifecycle: upstreams.lifecycle,
            timeouts: UpstreamTimeouts(configuration), verifier: verifier)
        verification = UpstreamVerification(
            connection, fleet: ports, policy: CachePolicy(randomness: CLibrary.exponential), observer: observer,
            clock: clock)
        invalidation = CacheInvalidation(of: ports.cache, observer: observer)
    }
}

extension AppleConnection {
    /// Keeps a span for each request to Apple, and notes it with the request that it is made for.
    private static func follow(
        _ tracing: RequestTracing, _ configuration: AppleConfiguration
    ) -> VerifyReceiptUpstream.Follow {
        let hosts: [UpstreamEnvironment: String] = [
            .production: configuration.productionURL.host, .sandbox: configuration.sandboxURL.host,
        ]
        return { endpoint, request in
            await RequestContext.recording(endpoint) {
                await tracing.asking(endpoint, at: hosts[endpoint.environment], request)
            }
        }
    }
}

/// Ends the connections to Apple after the requests that wait for them.
struct TransportService: Service {
    let transport: HTTPTransport

    func run() async throws {
        try? await gracefulShutdown()
        await transport.shutdown()
    }
}

// MARK: - From configuration

extension UpstreamState {
    /// Knows what the configuration says.
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
        // A probe that takes as long as a question may is not lost yet.
        breaker = CircuitBreaker.Policy(probeLease: configuration.deadline + .seconds(5))
        concurrency = ConcurrencyLimit.Policy(maximum: configuration.concurrency)
        guard configuration.maximumRequestsPerSecond > 0 else { return }
        budget = RatePolicy(name: "apple", quota: configuration.maximumRequestsPerSecond, window: .seconds(1))
    }
}

extension UpstreamTimeouts {
    init(_ configuration: AppleConfiguration) {
        self.init()
        deadline = configuration.deadline
        softTimeout = min(configuration.softTimeout, configuration.deadline)
    }
}

extension ConfigurationProblem {
    fileprivate init(_ error: TransportError, caFile: String?) {
        self.init(
            location: caFile ?? "gateway.apple",
            fault: error == .trustStore
                ? "is no PEM file with certificates that can be read" : "the connections to Apple cannot be set up")
    }
}
