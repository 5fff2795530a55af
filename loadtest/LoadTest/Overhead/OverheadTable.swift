// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A report for readers.
struct OverheadTable {
    let report: OverheadReport

    var text: String { [modes, ratios, turns, Self.legend].joined(separator: "\n\n") }

    private var modes: String {
        var table = TextTable(header: ["mode", "requests/s", "CPU us/request", "p50 ms", "p99 ms"])
        for mode in report.modes {
            table.append([
                mode.mode.rawValue, Int(mode.requestsPerSecond.rounded()).grouped,
                Int(mode.cpuMicrosecondsPerRequest.rounded()).grouped, mode.p50Milliseconds.fixed(2),
                mode.p99Milliseconds.fixed(2),
            ])
        }
        return table.text
    }

    private var ratios: String {
        "apple / local: \(report.requestsPerSecondRatio.fixed(2)) of the requests/s, "
            + "\(report.cpuRatio.fixed(2)) times the CPU per request"
    }

    private var turns: String {
        var table = TextTable(
            header: ["turn", "mode", "requests", "requests/s", "CPU us/request", "MiB before", "MiB after"])
        for (number, turn) in report.turns.enumerated() {
            table.append([
                String(number + 1), turn.mode.rawValue, turn.requests.grouped,
                Int(turn.requestsPerSecond.rounded()).grouped, Int(turn.cpuMicrosecondsPerRequest.rounded()).grouped,
                Self.mebibytes(turn.residentBytesAtStart), Self.mebibytes(turn.residentBytesAtEnd),
            ])
        }
        return table.text
    }

    private static func mebibytes(_ bytes: Int) -> String { (Double(bytes) / 1_048_576).fixed(1) }

    private static let legend = """
        requests/s, CPU      medians of the turns; the CPU time is that of the gateway's process alone
        apple / local        medians of the ratios within each round, because a shared machine has fast and slow rounds
        Load, gateway and simulated Apple share this machine, so requests/s tells less than CPU per request. Each
        request was worked out: no cache kept anything, and in mode apple each one was a question to Apple.
        """
}

extension MemoryTrend {
    /// For readers.
    var text: String {
        let slope = (bytesPerMinute / 1024).fixed(0), threshold = (thresholdBytesPerMinute / 1024).fixed(0)
        return "memory is \(isFlat ? "flat" : "NOT flat"): \(slope) KiB a minute after the first fifth, where up to "
            + "\(threshold) KiB (a hundredth of it) are called flat"
    }
}

extension MemoryPoint {
    /// For readers.
    var text: String { "\(seconds.fixed(0)) s  \((Double(residentBytes) / 1_048_576).fixed(1)) MiB resident" }
}
