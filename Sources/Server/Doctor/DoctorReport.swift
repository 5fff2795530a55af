// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import Operations
internal import Telemetry

struct DoctorReport: Sendable {
    let observations: [CheckResult]

    var level: CheckResult.Level {
        let levels = Set(observations.map(\.level))
        return levels.contains(.failed) ? .failed : levels.contains(.warning) ? .warning : .ok
    }

    /// True if the configuration is invalid, so that nothing else was checked.
    var isMisconfigured: Bool { observations.contains { $0.area == .configuration && $0.level == .failed } }

    // MARK: - For people

    func text(hasColours: Bool) -> String {
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

    // MARK: - For programs

    /// `{"version", "status", "checks": [{"area", "check", "status", "seen", "advice"}]}`; `advice` may be null.
    var json: String {
        let json = JSONWriter.object { json in
            json.member("version", Version.current)
            json.member("status", level.rawValue)
            json.objects("checks", of: observations) { json, observation in
                json.member("area", observation.area.rawValue)
                json.member("check", observation.subject)
                json.member("status", observation.level.rawValue)
                json.member("seen", observation.seen)
                json.member("advice", orNull: observation.advice)
            }
        }
        return String(decoding: json, as: UTF8.self) + "\n"
    }
}

extension CheckResult {
    /// The level and the subject in columns; longer subjects shift the rest.
    fileprivate func line(hasColours: Bool) -> String {
        let word = level.rawValue.padded(to: 9)
        let text = [seen, advice].compactMap(\.self).joined(separator: ". ")
        return (hasColours ? "\u{1B}[\(level.colour)m\(word)\u{1B}[0m" : word) + subject.padded(to: 15)
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
