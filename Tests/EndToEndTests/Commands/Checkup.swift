// SPDX-License-Identifier: Apache-2.0

import Foundation
import LoopbackPorts
import RealServers
import Testing
import TestSupport

/// The result of `receipt-gateway doctor`.
struct Checkup {
    struct Check: Decodable, CustomStringConvertible {
        let area, check, status, seen: String
        let advice: String?

        var description: String { "\(status) \(area) \(check): \(seen). \(advice ?? "")" }
    }

    private struct Report: Decodable {
        let version, status: String
        let checks: [Check]
    }

    let exitStatus: Int32
    /// The complete output, to search for secrets.
    let output: String
    let checks: [Check]

    /// Runs the program. By default Apple is disabled, caches are small and ports are free.
    init(_ settings: [String: String] = [:], with program: Program = .gateway, _ arguments: [String] = ["doctor"])
        async throws
    {
        let data = try ReservedPort(), admin = try ReservedPort()
        let usual = [
            "GATEWAY_APPLE_ENABLED": settings["GATEWAY_APPLE_PRODUCTION_URL"] == nil ? "false" : "true",
            "GATEWAY_HTTP_PORT": "\(data.number)", "GATEWAY_ADMIN_PORT": "\(admin.number)",
            "GATEWAY_CACHE_NEAR_SIZE": "1MiB", "GATEWAY_CACHE_APPLE_SIZE": "1MiB",
            "GATEWAY_HTTP_LIMITS_BODIES_IN_FLIGHT": "16MiB", "GATEWAY_CACHE_KEYS": Fleet.cacheKeys,
            // A busy machine must not look like a fault.
            "GATEWAY_REDIS_DEADLINE": Patience.operationSetting,
            "GATEWAY_REDIS_CONNECT_DEADLINE": Patience.operationSetting,
        ]
        let outcome = try await program.run(
            arguments + ["--format", "json"], environment: usual.merging(settings) { $1 })
        exitStatus = outcome.status
        output = outcome.output + outcome.errors
        let report = try #require(
            try? JSONDecoder().decode(Report.self, from: Data(outcome.output.utf8)), "\(outcome)")
        checks = report.checks
        #expect((report.status == "failed") == (exitStatus != 0))
    }

    /// Returns the only check of this name.
    subscript(area: String, check: String) -> Check {
        get throws {
            let found = checks.filter { $0.area == area && $0.check == check }
            try #require(found.count == 1, "\(area) \(check) in \(checks)")
            return found[0]
        }
    }

    /// The problems, except those about the limits of the machine that the tests run on.
    var complaints: [String] { checks.filter { $0.status != "ok" && $0.area != "limits" }.map(\.description) }
}
