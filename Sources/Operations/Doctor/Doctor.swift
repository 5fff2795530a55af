// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts
package import Settings

/// Looks at what is around a gateway: what it is configured with, whom it talks to, and what it may use.
///
/// All areas are looked at together, each for a limited time, with the parts that `serve` would use. Nothing is changed
/// but a few keys in Redis that end within a second.
package struct Doctor: Sendable {
    /// What is configured; it is known to be right.
    let configuration: GatewayConfiguration
    /// The environment variables, of which only those for proxies are looked at.
    let environment: [String: String]
    /// The time.
    var clock: @Sendable () -> Timestamp = { .now() }

    /// Creates a doctor for one configuration.
    package init(
        configuration: GatewayConfiguration, environment: [String: String],
        clock: @escaping @Sendable () -> Timestamp = { .now() }
    ) {
        self.configuration = configuration
        self.environment = environment
        self.clock = clock
    }

    enum Limits {
        /// For one area, and for all of them together, as they are looked at at the same time.
        static let examination: Duration = .seconds(12)
    }

    /// Everything that was seen, by area.
    package func examine() async -> [CheckResult] {
        await withTaskGroup(of: (CheckResult.Area, [CheckResult]).self) { group in
            for area in CheckResult.Area.allCases {
                group.addTask { (area, await examine(area)) }
            }
            let byArea = await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            return CheckResult.Area.allCases.flatMap { byArea[$0] ?? [] }
        }
    }

    private func examine(_ area: CheckResult.Area) async -> [CheckResult] {
        let report = CheckReport(area)
        let ended: Void? = await value(within: Limits.examination) { await examine(area, report) }
        if ended == nil {
            report.fail(
                "time", "not everything was seen within \(Limits.examination.configurationText)",
                do: "Mend what stands above, and look again.")
        }
        return report.close()
    }

    private func examine(_ area: CheckResult.Area, _ report: CheckReport) async {
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
            "\(ConfigurationKeys.all.count) settings, \(set) of them not the default; check-config lists them")
    }
}
