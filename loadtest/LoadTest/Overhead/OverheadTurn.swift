// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The process of the gateway at one moment.
struct ProcessReading: Hashable, Sendable {
    /// CPU time since it started, in seconds.
    let cpuSeconds: Double
    /// Memory in RAM, in bytes.
    let residentBytes: Int
    /// Genuine verdicts that were worked out since it started, by who said so.
    let verdicts: [String: Int]

    init(_ scrape: Scrape) {
        cpuSeconds = scrape.sum("process_cpu_seconds_total")
        residentBytes = Int(scrape.sum("process_resident_memory_bytes"))
        let samples = scrape.samples("receipt_gateway_verifications_total", ["verdict": "genuine", "cache": "miss"])
        verdicts = samples.reduce(into: [:]) { verdicts, sample in
            verdicts[sample.labels["source"] ?? "", default: 0] += Int(sample.value)
        }
    }
}

/// One mode under load for a while.
struct OverheadTurn: Encodable, Hashable, Sendable {
    let mode: VerifyMode
    let requests: Int
    let requestsPerSecond: Double
    /// Of the gateway's process.
    let cpuMicrosecondsPerRequest: Double
    let residentBytesAtStart: Int
    let residentBytesAtEnd: Int
    /// Not part of what is printed, because the report has them of all turns together.
    let latencies: LatencyHistogram

    private enum CodingKeys: String, CodingKey {
        case mode, requests
        case requestsPerSecond = "requests_per_second"
        case cpuMicrosecondsPerRequest = "cpu_microseconds_per_request"
        case residentBytesAtStart = "resident_bytes_at_start"
        case residentBytesAtEnd = "resident_bytes_at_end"
    }
}

extension OverheadTurn {
    /// - Throws: `OverheadError` if the turn did not measure what it was to measure.
    init(
        _ mode: VerifyMode, _ load: LoadResult, took: Duration, _ before: ProcessReading, _ after: ProcessReading
    ) throws(OverheadError) {
        let requests = load.latencies.count
        guard load.failures == 0, requests > 0 else { throw .failures(mode, count: load.failures, of: requests) }
        // The source of a verdict is named like the mode that wants it.
        let workedOut = after.verdicts[mode.rawValue, default: 0] - before.verdicts[mode.rawValue, default: 0]
        guard workedOut == requests else { throw .otherwiseAnswered(mode, count: requests - workedOut, of: requests) }
        self.mode = mode
        self.requests = requests
        requestsPerSecond = Double(requests) / took.seconds
        cpuMicrosecondsPerRequest = (after.cpuSeconds - before.cpuSeconds) / Double(requests) * 1e6
        residentBytesAtStart = before.residentBytes
        residentBytesAtEnd = after.residentBytes
        latencies = load.latencies
    }
}

/// Why a turn cannot be used.
enum OverheadError: Error, Hashable, CustomStringConvertible {
    /// Requests without an answer, or with another status than 200.
    case failures(VerifyMode, count: Int, of: Int)
    /// Verdicts from another source, from a cache, or none.
    case otherwiseAnswered(VerifyMode, count: Int, of: Int)

    var description: String {
        switch self {
        case .failures(let mode, let count, let all):
            "In mode \(mode.rawValue), \(count.grouped) of \(all.grouped) requests failed; nothing was measured."
        case .otherwiseAnswered(let mode, let count, let all):
            "In mode \(mode.rawValue), \(count.grouped) of \(all.grouped) receipts were not called genuine by that "
                + "source, freshly asked; nothing was measured."
        }
    }
}
