// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Receipts
internal import Settings
internal import Synchronization

/// Checks the environment of a gateway: its configuration, the services it uses and the system's limits.
///
/// All areas are checked in parallel within a time limit, with the components that `serve` would use. The only changes
/// are a few keys in Redis that expire within a second.
struct Doctor: Sendable {
    let configuration: GatewayConfiguration
    /// The environment variables; only those for proxies are read.
    let environment: [String: String]
    var clock: @Sendable () -> Timestamp = { .now() }

    enum Limits {
        /// The time limit of one area, and so of all areas: the areas that wait for Redis's do nothing else that takes time.
        static let time: Duration = .seconds(12)
    }

    func check() async -> [CheckResult] {
        let redis = Task { await checkRedis() }
        return await withTaskGroup(of: (CheckResult.Area, [CheckResult]).self) { group in
            for area in CheckResult.Area.allCases {
                group.addTask { (area, await check(area, redis)) }
            }
            let byArea = await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            return CheckResult.Area.allCases.flatMap { byArea[$0] ?? [] }
        }
    }

    private typealias CheckedRedis = (results: [CheckResult], store: StoreFinding)

    private func checkRedis() async -> CheckedRedis {
        let (results, store) = await inTime(.redis) { report in
            guard let check = RedisCheck(configuration: configuration, report: report, clock: clock) else {
                return StoreFinding.notConfigured
            }
            return await check.run()
        }
        return (results, store ?? .unchecked)
    }

    private func check(_ area: CheckResult.Area, _ redis: Task<CheckedRedis, Never>) async -> [CheckResult] {
        switch area {
        case .redis: return await redis.value.results
        case .notifications, .verifications:
            let store = await redis.value.store
            return await inTime(area) { await check(area, $0, store) }.results
        default: return await inTime(area) { await check(area, $0) }.results
        }
    }

    /// Runs the checks of an area within the time limit.
    /// - Returns: the observations, and what the checks return; nil at the time limit.
    private func inTime<Found: Sendable>(
        _ area: CheckResult.Area, _ check: @escaping @Sendable (CheckReport) async -> Found
    ) async -> (results: [CheckResult], found: Found?) {
        let report = CheckReport(area)
        let found = await value(within: Limits.time) { await check(report) }
        if found == nil {
            report.fail(
                "time", "the checks did not finish within \(Limits.time.configurationText)",
                do: "Fix the problems above, and run the doctor again.")
        }
        return (report.close(), found)
    }

    private func check(_ area: CheckResult.Area, _ report: CheckReport, _ store: StoreFinding = .unchecked) async {
        let check = AreaCheck(configuration: configuration, environment: environment, report: report, clock: clock)
        switch area {
        case .configuration: check.checkSettings()
        case .clients: check.checkClients()
        case .redis: break
        case .apple: await check.checkApple()
        case .notifications: check.checkNotifications(store)
        case .webhooks: await check.checkWebhooks()
        case .verifications: check.checkVerifications(store)
        case .traces: await check.checkTraces()
        case .certificates: check.checkCertificates()
        case .limits: check.checkLimits()
        case .ports: await check.checkPorts()
        }
    }
}

/// The checks of one area; each area has an extension.
struct AreaCheck {
    let configuration: GatewayConfiguration
    var environment: [String: String] = [:]
    let report: CheckReport
    var clock: @Sendable () -> Timestamp = { .now() }

    fileprivate func checkSettings() {
        let set = ConfigurationKeys.all.count { $0.text(configuration) != $0.defaultText }
        report.ok(
            "settings",
            "\(ConfigurationKeys.all.count) settings, \(set) of them changed; check-config lists them")
    }
}

/// The observations of one area. Closed at the time limit; later observations are dropped.
final class CheckReport: Sendable {
    private struct State {
        var observations: [CheckResult] = []
        var isClosed = false
    }

    private let area: CheckResult.Area
    private let state = Mutex(State())

    init(_ area: CheckResult.Area) { self.area = area }

    func ok(_ subject: String, _ seen: String) { record(subject, .ok, seen, nil) }
    func warn(_ subject: String, _ seen: String, do advice: String) { record(subject, .warning, seen, advice) }
    /// Warns of a fault, if there is one.
    func warn(_ subject: String, _ fault: (seen: String, advice: String)?) {
        if let fault { warn(subject, fault.seen, do: fault.advice) }
    }

    func fail(_ subject: String, _ seen: String, do advice: String) { record(subject, .failed, seen, advice) }

    func record(_ subject: String, _ level: CheckResult.Level, _ seen: String, _ advice: String?) {
        let observation = CheckResult(area: area, subject: subject, level: level, seen: seen, advice: advice)
        state.withLock { if !$0.isClosed { $0.observations.append(observation) } }
    }

    func close() -> [CheckResult] {
        state.withLock { state in
            state.isClosed = true
            return state.observations
        }
    }
}

/// Returns the result of an operation; nil if it exceeds a time limit. It is then cancelled, and not awaited.
func value<Value: Sendable>(
    within limit: Duration, of body: @escaping @Sendable () async -> Value
) async -> Value? {
    let (ends, end) = AsyncStream.makeStream(of: Value?.self)
    let work = Task { end.yield(await body()) }
    let timer = Task {
        try? await Task.sleep(for: limit)
        end.yield(nil)
    }
    defer {
        work.cancel()
        timer.cancel()
    }
    return await ends.first { _ in true } ?? nil
}

struct CheckResult: Hashable, Sendable {
    enum Level: String, Sendable {
        case ok
        /// It works, but needs attention.
        case warning
        /// It does not work, or will stop working.
        case failed
    }

    /// The areas, in the order of the report.
    enum Area: String, CaseIterable, Sendable {
        case configuration, clients, redis, apple, notifications, webhooks, verifications, traces, certificates, limits
        case ports
    }

    let area: Area
    /// The subject, in a word; unique within its area except for `configuration`.
    let subject: String
    let level: Level
    /// The observation and its meaning. Never a secret.
    let seen: String
    let advice: String?
}

extension ConfigurationProblems {
    /// The problems as observations. One sentence already contains the fault and what to do.
    var observations: [CheckResult] {
        problems.prefix(Self.maximumShown).map {
            CheckResult(
                area: .configuration, subject: "settings", level: .failed, seen: $0.description, advice: nil)
        }
    }
}
