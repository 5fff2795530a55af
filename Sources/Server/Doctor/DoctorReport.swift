// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import Operations
internal import Telemetry

package struct DoctorReport: Sendable {
    let observations: [CheckResult]

    package init(observations: [CheckResult]) {
        self.observations = observations
    }

    package enum Format: String, CaseIterable, Sendable {
        case text
        case json
    }

    package var level: CheckResult.Level {
        let levels = Set(observations.map(\.level))
        return levels.contains(.failed) ? .failed : levels.contains(.warning) ? .warning : .ok
    }

    /// True if the configuration is invalid, so that nothing else was checked.
    package var isMisconfigured: Bool { observations.contains { $0.area == .configuration && $0.level == .failed } }

    // MARK: - For people

    package func text(hasColours: Bool) -> String {
        let areas = CheckResult.Area.allCases.compactMap { area in
            let lines = observations.filter { $0.area == area }.map { "  \($0.line(hasColours: hasColours))\n" }
            return lines.isEmpty ? nil : "\(area.rawValue.capitalizedFirst)\n\(lines.joined())"
        }
        return areas.joined(separator: "\n") + "\n\(summary)\n"
    }

    private var summary: String {
        func count(_ level: CheckResult.Level) -> Int { observations.count { $0.level == level } }
        let warnings = count(.warning) == 1 ? "1 warning" : "\(count(.warning)) warnings"
        let counts = "\(count(.ok)) ok, \(warnings), \(count(.failed)) failed"
        return isMisconfigured ? "\(counts); nothing else is checked until the configuration is valid" : counts
    }
}

extension CheckResult {
    /// The widths of a line's columns; longer subjects shift the rest.
    private enum Width {
        static let level = 9
        static let subject = 15
    }

    fileprivate func line(hasColours: Bool) -> String {
        let word = level.rawValue.padded(to: Width.level)
        let text = [seen, advice].compactMap(\.self).joined(separator: ". ")
        return (hasColours ? "\u{1B}[\(level.colour)m\(word)\u{1B}[0m" : word) + subject.padded(to: Width.subject)
            + text
    }
}

extension CheckResult.Level {
    /// Select Graphic Rendition (ECMA-48): green, yellow, bold red.
    fileprivate var colour: String {
        switch self {
        case .ok: "32"
        case .warning: "33"
        case .failed: "1;31"
        }
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(1, width - count))
    }
}

// MARK: - For programs

extension DoctorReport {
    /// `{"version", "status", "checks": [{"area", "check", "status", "seen", "advice"}]}`; `advice` may be null.
    package var json: String {
        var json = JSONWriter()
        json.object { json in
            json.member("version", Version.current)
            json.member("status", level.rawValue)
            json.key("checks")
            json.array { json in
                for observation in observations { observation.write(to: &json) }
            }
        }
        return String(decoding: json.bytes, as: UTF8.self) + "\n"
    }
}

extension CheckResult {
    fileprivate func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("area", area.rawValue)
            json.member("check", subject)
            json.member("status", level.rawValue)
            json.member("seen", seen)
            json.member("advice", advice.map { .string(OutsideText($0)) } ?? .null)
        }
    }
}
