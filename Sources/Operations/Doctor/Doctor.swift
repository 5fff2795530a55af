// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts
package import Settings

/// Checks the environment of a gateway: its configuration, the services it uses and the system's limits.
///
/// All areas are checked in parallel within a time limit, with the components that `serve` would use. The only changes
/// are a few keys in Redis that expire within a second.
package struct Doctor: Sendable {
    /// The configuration, already validated.
    let configuration: GatewayConfiguration
    /// The environment variables; only those for proxies are read.
    let environment: [String: String]
    var clock: @Sendable () -> Timestamp = { .now() }

    package init(
        configuration: GatewayConfiguration, environment: [String: String],
        clock: @escaping @Sendable () -> Timestamp = { .now() }
    ) {
        self.configuration = configuration
        self.environment = environment
        self.clock = clock
    }

    enum Limits {
        /// The time limit of one area, and so of all, because they run in parallel.
        static let time: Duration = .seconds(12)
    }

    package func check() async -> [CheckResult] {
        await withTaskGroup(of: (CheckResult.Area, [CheckResult]).self) { group in
            for area in CheckResult.Area.allCases {
                group.addTask { (area, await check(area)) }
            }
            let byArea = await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            return CheckResult.Area.allCases.flatMap { byArea[$0] ?? [] }
        }
    }

    private func check(_ area: CheckResult.Area) async -> [CheckResult] {
        let report = CheckReport(area)
        let ended: Void? = await value(within: Limits.time) { await check(area, report) }
        if ended == nil {
            report.fail(
                "time", "the checks did not finish within \(Limits.time.configurationText)",
                do: "Fix the problems above, and run the doctor again.")
        }
        return report.close()
    }

    private func check(_ area: CheckResult.Area, _ report: CheckReport) async {
        switch area {
        case .configuration: noteSettings(report)
        case .clients: ClientsCheck(configuration: configuration, report: report, now: clock()).run()
        case .redis: await RedisCheck(configuration: configuration, report: report, clock: clock)?.run()
        case .apple:
            await AppleCheck(
                configuration: configuration, environment: environment, report: report, clock: clock
            ).run()
        case .certificates: CertificatesCheck(configuration: configuration, report: report, now: clock()).run()
        case .limits: LimitsCheck(configuration: configuration, report: report).run()
        case .ports: await PortsCheck(configuration: configuration, report: report).run()
        }
    }

    private func noteSettings(_ report: CheckReport) {
        let set = ConfigurationKeys.all.count { $0.text(configuration) != $0.defaultText }
        report.ok(
            "settings",
            "\(ConfigurationKeys.all.count) settings, \(set) of them changed; check-config lists them")
    }
}
