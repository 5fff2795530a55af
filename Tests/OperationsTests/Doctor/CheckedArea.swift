// SPDX-License-Identifier: Apache-2.0

import Receipts

@testable import Server
@testable import ServerTestSupport
@testable import Settings

/// One area of the doctor's report, for a configuration with a clients file.
struct CheckedArea {
    let check: AreaCheck
    private let folder: TemporaryFolder

    /// - Parameter clients: the clients file; nil for none.
    init(
        _ area: CheckResult.Area, clients: String? = nil, at now: Timestamp? = nil,
        _ change: (inout GatewayConfiguration) -> Void = { _ in }
    ) throws {
        folder = try TemporaryFolder()
        var configuration = GatewayConfiguration()
        configuration.clientsFile = try clients.map { [folder] in try folder.write($0, to: "clients.yaml") }
        change(&configuration)
        check = AreaCheck(configuration: configuration, report: CheckReport(area)) { now ?? .now() }
    }

    /// Runs a check, and returns its results.
    func results(_ run: (AreaCheck) -> Void) -> [CheckResult] {
        run(check)
        return check.report.close()
    }
}

extension [CheckResult] {
    /// The first result about a subject.
    subscript(subject: String) -> CheckResult? { first { $0.subject == subject } }
}
