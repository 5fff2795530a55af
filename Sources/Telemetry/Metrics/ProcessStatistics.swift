// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif
package import PrometheusExport
internal import Settings

/// What the system says about this process. Linux says it in `/proc` (proc(5)); what it does not say is not a number.
package enum ProcessStatistics {
    /// The families `process_*`.
    package static var readings: [MetricReading] {
        [
            MetricReading(MetricCatalogue.processCPU) { CLibrary.processorSeconds },
            MetricReading(MetricCatalogue.processVirtualMemory) { pages(at: 0).map(bytes) ?? .nan },
            MetricReading(MetricCatalogue.processResidentMemory) { residentBytes ?? .nan },
            MetricReading(MetricCatalogue.processOpenFiles) { openFiles.map(Double.init) ?? .nan },
            MetricReading(MetricCatalogue.processMaximumFiles) { maximumFiles ?? .nan },
            MetricReading(MetricCatalogue.processStart) { [start] in start ?? .nan },
        ]
    }

    /// The memory that is in RAM.
    package static var residentBytes: Double? { pages(at: 1).map(bytes) }

    /// `/proc/self/statm` counts pages: all of them, those in RAM, and some more.
    private static func pages(at index: Int) -> Double? {
        text("self/statm").flatMap { number(at: index, in: $0) }
    }

    private static func bytes(ofPages count: Double) -> Double {
        count * CLibrary.pageBytes
    }

    /// Without the one that reading the directory takes.
    private static var openFiles: Int? {
        let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return names.map { $0.count - 1 }
    }

    /// The soft limit is the first number in its line.
    package static var maximumFiles: Double? {
        line("Max open files", in: text("self/limits")).flatMap { number(at: 0, in: $0) }
    }

    /// In seconds since 1970: the start of the system, and the ticks from then to the start of the process.
    package static var start: Double? {
        guard let ticks = text("self/stat").flatMap(startTicks), let booted = line("btime", in: text("stat")),
            let bootedAt = number(at: 0, in: booted)
        else { return nil }
        return bootedAt + ticks / CLibrary.ticksPerSecond
    }

    /// Field 22 of `/proc/self/stat`. Field 2 is a name in parentheses that may hold anything, also parentheses.
    static func startTicks(_ stat: String) -> Double? {
        guard let nameEnd = stat.lastIndex(of: ")") else { return nil }
        return number(at: 22 - 3, in: stat[nameEnd...].dropFirst())
    }

    /// How many cores this process may run on.
    package static var allowedCores: Int? {
        line("Cpus_allowed:", in: text("self/status")).flatMap { bitCount(ofMask: $0) }
    }

    /// The bits of a mask in hexadecimal digits, with commas between groups; nil for none.
    static func bitCount(ofMask mask: some StringProtocol) -> Int? {
        let count = mask.compactMap(\.hexDigitValue).reduce(0) { $0 + $1.nonzeroBitCount }
        return count > 0 ? count : nil
    }

    private static func line(_ name: String, in text: String?) -> Substring? {
        text?.split(separator: "\n").first { $0.hasPrefix(name) }?.dropFirst(name.count)
    }

    private static func number(at index: Int, in text: some StringProtocol) -> Double? {
        let words = text.split(separator: " ")
        return index < words.count ? Double(String(words[index])) : nil
    }

    private static func text(_ name: String) -> String? {
        try? TextFile.read("/proc/\(name)")
    }
}
