// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import ReceiptForge

/// The page of a result: one file that loads nothing. Its own script, and no other, draws the JSON inside it.
struct ReportPage {
    enum Tone: String {
        case good, bad, caution
    }

    let kicker, headline: String
    var subject: String?
    let tone: Tone
    var reasons: [String] = []
    let leads: [String]
    /// For viewers that run no scripts.
    let figures: String
    let result: any Encodable

    func html() throws -> String {
        let style = Self.text(PackageResources.report_css)
        let script = Self.text(PackageResources.plots_js + PackageResources.report_js)
        let parts = [
            "style": style, "style-source": Self.source(style), "script": script, "script-source": Self.source(script),
            "title": Self.escaped([headline, subject].compactMap(\.self).joined(separator: ": ")),
            "kicker": Self.escaped(kicker), "headline": Self.escaped(headline), "tone": tone.rawValue,
            "reasons": reasons.map { "<li>\(Self.escaped($0))</li>" }.joined(),
            "leads": leads.map { "<p class=\"lead\">\(Self.escaped($0))</p>" }.joined(),
            "figures": Self.escaped(figures),
            // Nothing in the JSON looks like a tag or a comment (HTML §4.12.1.3).
            "result": try JSONOutput.compact(result).replacingScalar("<", with: #"\u003c"#),
        ]
        return Self.text(PackageResources.report_html).filled(parts)
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    /// Returns the source with which a content security policy allows this text only (CSP Level 3 §2.3.1).
    private static func source(_ text: String) -> String {
        "sha256-" + Data(SigningDigest.sha256.hash(Array(text.utf8))).base64EncodedString()
    }

    private static func escaped(_ text: String) -> String {
        text.printable.replacingScalar("&", with: "&amp;").replacingScalar("<", with: "&lt;")
    }
}

extension RunResult {
    var page: ReportPage {
        let tone: ReportPage.Tone =
            switch verdict {
            case .passed: .good
            case .thresholdMissed: .bad
            case .generatorOverloaded, .interrupted: .caution
            }
        return ReportPage(
            kicker: "Load test · \(plan.title)", headline: headline, subject: plan.title, tone: tone,
            reasons: verdictReasons, leads: [sentence] + [plan.description].compactMap(\.self),
            figures: RunText(result: self).text, result: self)
    }

    /// The verdict in a few words: `Passed: all 2 thresholds were met`.
    var headline: String {
        let missed = thresholds.count { !$0.met }, all = thresholds.count
        return switch verdict {
        case .passed where all == 0: "Passed: it had no threshold"
        case .passed: all == 1 ? "Passed: its threshold was met" : "Passed: all \(all) thresholds were met"
        case .thresholdMissed: "Failed: \(missed) of \(all) thresholds missed"
        case .generatorOverloaded: "No verdict: the generator could not keep up"
        case .interrupted: "Interrupted after \(durationSeconds.rounded(toDecimals: 2).plain) seconds"
        }
    }

    /// `2,000 requests per second for 30 s, in an open loop, against http://…`.
    var sentence: String {
        let seconds = (plan.seconds ?? durationSeconds).rounded(toDecimals: 2).plain
        let loop = plan.loop == .open ? "in an open loop" : "in a closed loop"
        return
            "\(plan.load) for \(seconds) s, \(loop) over \(plan.connections.grouped) connections, against \(plan.url)."
    }
}

extension RunResult.Plan {
    var title: String { name ?? url }

    var load: String {
        guard loop == .open, let first = stages.first else { return "As fast as it was answered" }
        let rates = stages.flatMap { [$0.fromPerSecond, $0.toPerSecond] }
        if rates.allSatisfy({ $0 == first.fromPerSecond }) { return "\(first.fromPerSecond.plain) requests per second" }
        return "\((rates.min() ?? 0).plain) to \((rates.max() ?? 0).plain) requests per second"
    }
}

extension RunComparison {
    var page: ReportPage {
        let isQuiet = warnings.isEmpty && events.isEmpty
        return ReportPage(
            kicker: "Two load tests compared", headline: headline,
            tone: !regressions.isEmpty ? .bad : isQuiet ? .good : .caution, reasons: warnings,
            leads: runs.map { "\($0.name): \($0.run.plan.title), \($0.run.startedAt). \($0.run.sentence)" },
            figures: text,
            result: ComparedRuns(
                comparison: ComparisonReport(self), rows: rows, runs: runs.map { ComparedRuns.Run($0.run) }))
    }
}

/// The JSON of a page that compares runs, with the seconds after the warm-up.
private struct ComparedRuns: Encodable {
    let comparison: ComparisonReport
    let draws = NoiseRule.draws
    /// The figures as text, with what only this program says: verdicts and intervals.
    let rows: [[String]]
    let runs: [Run]

    struct Run: Encodable {
        let response: RunResult.Distribution
        let timeline: [RunResult.Second]
        let marks: [RunResult.Mark]

        init(_ run: RunResult) {
            let start = run.plan.warmupSeconds.rounded(.up)
            response = run.response
            timeline = run.measuredSeconds
            marks = run.marks.filter { $0.atSeconds >= start }
                .map { RunResult.Mark(atSeconds: $0.atSeconds - start, text: $0.text) }
        }
    }
}

extension FigureReport {
    var page: ReportPage {
        ReportPage(
            kicker: title ?? "Bench of the gateway", headline: headline, tone: missed.isEmpty ? .good : .bad, leads: [],
            figures: text, result: self)
    }
}
