// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator
internal import ReceiptForge

/// A gateway and an Apple with a bad day, both real, and clients that ask all the while.
struct Rehearsal: Sendable {
    let plan: RehearsalPlan
    /// Where the gateway's program lies.
    let gatewayPath: String
    /// What happens to Apple.
    let scenario: Scenario

    /// Runs to the end, or until the task is cancelled: then the report is of what was seen until then.
    func run(onRow: (RehearsalRow) -> Void) async throws -> RehearsalReport {
        let pki = ForgedPKI(seed: RehearsalPlan.seed)
        let receipts = mint(signedBy: pki)
        let folder = try ScratchFolder()
        defer { folder.remove() }
        let root = try folder.write(pki.rootPEM, to: "root.pem")
        let apple = try await AppleSimulator.start(.init(pki: pki))
        return try await apple.whileRunning { apple in
            let configuration = RunningGateway.configuration(
                root: root, productionURL: apple.productionURL, sandboxURL: apple.sandboxURL)
            return try await RunningGateway.start(gatewayPath, configuration).whileRunning {
                await trace($0, apple, receipts, onRow)
            }
        }
    }

    private func mint(signedBy pki: ForgedPKI) -> [PreparedRequest] {
        let count = min(plan.receipts, plan.requests)
        let progress = ProgressLine(unit: "receipts", total: count)
        defer { progress.finish() }
        let receipts = ProductionReceipts.mint(
            count, signedBy: pki, seed: RehearsalPlan.seed, minted: progress.update)
        return receipts.map { .verify($0, mode: plan.mode, maximumAge: plan.maximumAge) }
    }

    /// The scenario begins with the first request.
    private func trace(
        _ gateway: RunningGateway, _ apple: AppleSimulator, _ receipts: [PreparedRequest],
        _ onRow: (RehearsalRow) -> Void
    ) async -> RehearsalReport {
        let tally = SharedTally()
        let visits = Visits(requests: plan.requests, receipts: receipts.count)
        let start = ContinuousClock.now
        apple.play(scenario)
        var log = RehearsalLog(start: start)
        await withTaskGroup { group in
            group.addTask {
                let schedule = Schedule(.steady(perSecond: plan.rate, count: plan.requests), start: start)
                await LoadDriver(port: gateway.dataPort, connections: plan.connections).run(schedule) { turn in
                    receipts[visits.receipt(ofRequest: turn)]
                } record: {
                    tally.record($0)
                }
            }
            for row in 1..<max(2, plan.rows) {
                guard (try? await Task.sleep(until: start + plan.interval * row)) != nil else { break }
                onRow(log.append(tally.take(), await reading(gateway, apple), at: .now))
            }
            // The last row waits for the last answer.
            await group.waitForAll()
        }
        onRow(log.append(tally.take(), await reading(gateway, apple), at: .now))
        return log.report
    }

    private func reading(_ gateway: RunningGateway, _ apple: AppleSimulator) async -> Reading {
        Reading(apple.statsDetails, try? await Scrape.of(adminPort: gateway.adminPort))
    }
}

/// The rows so far.
private struct RehearsalLog {
    let start: ContinuousClock.Instant
    private var rows: [RehearsalRow] = []
    private var total = Tally()
    private var last = Reading()

    init(start: ContinuousClock.Instant) {
        self.start = start
    }

    mutating func append(_ tally: Tally, _ reading: Reading, at now: ContinuousClock.Instant) -> RehearsalRow {
        let row = RehearsalRow(end: now - start, tally, last, reading)
        rows.append(row)
        total.merge(tally)
        last = reading
        return row
    }

    var report: RehearsalReport {
        RehearsalReport(rows: rows, summary: RehearsalSummary(total, last))
    }
}
