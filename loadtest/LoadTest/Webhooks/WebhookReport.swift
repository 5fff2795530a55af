// SPDX-License-Identifier: Apache-2.0

extension WebhookRun.Outcome {
    /// Faults of a healthy endpoint's deliveries. Duplicates are none: delivery is at least once.
    private static let faults: [(name: String, count: @Sendable (DeliveryTally.Counts) -> Int)] = [
        ("events out of order", \.orderViolations), ("events marked with a gap", \.gaps),
        ("requests with a wrong signature", \.unsigned), ("requests without a valid event", \.malformed),
        ("redirects followed", \.elsewhere),
    ]

    /// Returns the figures. The healthy endpoints decide about the targets.
    ///
    /// - Parameter baseline: the run without deliveries, which measures the CPU of storing alone.
    func report(_ run: WebhookRun, baseline: WebhookRun.Outcome?) -> FigureReport {
        var report = FigureReport(title: "Webhooks")
        report.addFaults("notifications not stored", run.plan.events - posted)
        report.add("events written", Double(written), "", .atLeast(1))
        let healthy = run.healthy.compactMap { name in stats[name].map { (name, $0) } }
        for (name, stats) in healthy {
            report.addFaults("\(name): events missing or too many", abs(written - stats.counts.distinct))
            for fault in Self.faults { report.addFaults("\(name): \(fault.name)", fault.count(stats.counts)) }
        }
        report.addFaults(
            "orders of the events of an original transaction, beyond one",
            max(0, Set(healthy.map(\.1.orderDigest)).count - 1))
        for name in run.endpoints {
            guard let stats = stats[name] else { continue }
            let counts = stats.counts, endpoint = run.healthy.contains(name) ? name : "\(name) (broken)"
            report.add("\(endpoint): events", Double(counts.distinct), "")
            report.add("\(endpoint): duplicates", Double(counts.duplicates), "")
            report.add("\(endpoint): refused", Double(counts.refused), "")
            report.add("\(endpoint): deliveries", Double(counts.accepted) / max(0.001, stats.seconds), "/s")
        }
        report.add("notifications", Double(posted) / max(0.001, postingSeconds), "/s")
        if let baseline {
            let storing = baseline.cpuSeconds / Double(max(1, baseline.posted))
            let deliveries = stats.values.map(\.counts.accepted).reduce(0, +)
            report.add(
                "CPU per delivery", 1e6 * (cpuSeconds - storing * Double(posted)) / Double(max(1, deliveries)), "us")
            report.add("CPU per notification without deliveries", 1e6 * storing, "us")
        }
        report.add("memory of a gateway", Double(residentBytes) / 1_048_576, "MiB")
        return report
    }
}
