// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif
internal import Clients

/// The system's statistics about this process, from Linux's `/proc` (proc(5)). Missing values are NaN.
package enum ProcessStatistics {
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

    package static var residentBytes: Double? { pages(at: 1).map(bytes) }

    /// Reads `/proc/self/statm`: the number of all pages, the number of pages in RAM, and further numbers.
    private static func pages(at index: Int) -> Double? {
        text("self/statm").flatMap { number(at: index, in: $0) }
    }

    private static func bytes(ofPages count: Double) -> Double { count * CLibrary.pageBytes }

    /// The number of open files, without the file that reading the directory opens.
    private static var openFiles: Int? {
        let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return names.map { $0.count - 1 }
    }

    /// The soft limit, which is the first number in its line.
    package static var maximumFiles: Double? {
        line("Max open files", in: text("self/limits")).flatMap { number(at: 0, in: $0) }
    }

    /// The start of the process in seconds since 1970: the boot time plus the ticks until the start.
    package static var start: Double? {
        guard let ticks = text("self/stat").flatMap(startTicks), let booted = line("btime", in: text("stat")),
            let bootedAt = number(at: 0, in: booted)
        else { return nil }
        return bootedAt + ticks / CLibrary.ticksPerSecond
    }

    /// Parses field 22 of `/proc/self/stat`. Field 2 is a name in parentheses that may contain parentheses.
    static func startTicks(_ stat: String) -> Double? {
        guard let nameEnd = stat.lastIndex(of: ")") else { return nil }
        return number(at: 22 - 3, in: stat[nameEnd...].dropFirst())
    }

    package static var allowedCores: Int? {
        line("Cpus_allowed:", in: text("self/status")).flatMap { bitCount(ofMask: $0) }
    }

    /// Returns the number of bits set in a mask of hexadecimal digits with commas between groups; nil for none.
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

    private static func text(_ name: String) -> String? { try? TextFile.read("/proc/\(name)") }
}
