// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RealServers
import Testing

/// What `receipt-gateway doctor` said.
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
    /// Everything that was written, to look for what must not be there.
    let output: String
    let checks: [Check]

    /// Runs the program. Apple is left alone, caches are small and ports are free, unless the settings say otherwise.
    init(_ settings: [String: String] = [:], with program: Program = .gateway, _ arguments: [String] = ["doctor"])
        async throws
    {
        let usual = [
            "GATEWAY_APPLE_ENABLED": settings["GATEWAY_APPLE_PRODUCTION_URL"] == nil ? "false" : "true",
            "GATEWAY_HTTP_PORT": "\(try Loopback.freePort())", "GATEWAY_ADMIN_PORT": "\(try Loopback.freePort())",
            "GATEWAY_CACHE_NEAR_SIZE": "1MiB", "GATEWAY_CACHE_APPLE_SIZE": "1MiB",
            "GATEWAY_HTTP_LIMITS_BODIES_IN_FLIGHT": "16MiB", "GATEWAY_CACHE_KEYS": Fleet.cacheKeys,
            // A busy machine is not what is wrong.
            "GATEWAY_REDIS_DEADLINE": "5s", "GATEWAY_REDIS_CONNECT_DEADLINE": "30s",
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

    /// The one check of this name.
    subscript(area: String, check: String) -> Check {
        get throws {
            let found = checks.filter { $0.area == area && $0.check == check }
            try #require(found.count == 1, "\(area) \(check) in \(checks)")
            return found[0]
        }
    }

    /// What is not as it should be, but for the limits of the machine that the tests run on.
    var complaints: [String] { checks.filter { $0.status != "ok" && $0.area != "limits" }.map(\.description) }
}
