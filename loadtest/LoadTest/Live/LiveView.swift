// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What a terminal shows of a run: lines of a given width, drawn anew each second.
struct LiveView {
    let plan: LoadPlan
    let marks: [MarkOption]
    let hasColours: Bool
    /// Whether a key can be pressed.
    let listens: Bool
    private var seconds: [RunResult.Second] = []
    private var counts = RequestCounts()

    init(plan: LoadPlan, marks: [MarkOption], hasColours: Bool, listens: Bool) {
        self.plan = plan
        self.marks = marks
        self.hasColours = hasColours
        self.listens = listens
    }

    mutating func add(_ second: RunResult.Second, _ counts: RequestCounts) {
        // No screen is wider.
        if seconds.count >= 1000 { seconds.removeFirst() }
        seconds.append(second)
        self.counts.add(counts)
    }

    /// The lines, none wider than this.
    func lines(width: Int) -> [String] {
        guard let last = seconds.last else { return ["connected to \(plan.target.authority)"] }
        let columns = max(10, min(60, width - 24))
        let lines = [
            bold(clip(plan.target.url, width)) + (listens ? dim("   q stops") : ""),
            progress(last, columns),
            rate(last),
            "  p50  " + colour(.cyan, Sparkline.text(seconds.map(\.p50), width: columns)) + "  "
                + Self.figure(last.p50),
            "  p99  " + colour(.yellow, Sparkline.text(seconds.map(\.p99), width: columns)) + "  "
                + Self.figure(last.p99),
            answers(columns),
            legend(width),
            "  send lag p99 \(Self.figure(last.sendLagP99)), late \(counts.late.grouped) of \(counts.intended.grouped)",
            events(upTo: Double(last.second + 1), width),
        ]
        return lines.map { Self.fit($0, width) }
    }

    /// A line that is too long loses its colours and its end: it would take two, and the next drawing would miss one.
    private static func fit(_ line: String, _ width: Int) -> String {
        let plain = line.replacing(/\u{1B}\[\d+m/, with: "")
        return plain.count <= width ? line : String(plain.prefix(width))
    }

    private func progress(_ last: RunResult.Second, _ columns: Int) -> String {
        let whole = plan.warmupSeconds + plan.seconds, now = Double(last.second + 1)
        let isWarming = now <= plan.warmupSeconds
        guard whole < 1e7 else { return "  \(last.second + 1) s" }
        let done = min(columns, Int(now / whole * Double(columns)))
        let bar = String(repeating: "█", count: done) + String(repeating: "░", count: columns - done)
        return "  time \(bar)  \(last.second + 1) of \(PlainNumber.text(whole.rounded(toDecimals: 1))) s"
            + (isWarming ? ", warming up" : "")
    }

    private func rate(_ last: RunResult.Second) -> String {
        let target = last.target.map { "target \($0.asRate)/s, " } ?? "closed loop, "
        let problems = "failed \(counts.errors.grouped), shed \(counts.shed.grouped)"
        return "  " + target + "answered \(last.answered.grouped)/s, "
            + (counts.errors > 0 ? colour(.red, problems) : problems)
    }

    /// Of all answers until now.
    private var shares: [(outcome: Outcome, count: Int)] {
        Outcome.allCases.map { ($0, counts[$0]) }.filter { $0.1 > 0 }
    }

    private func answers(_ columns: Int) -> String {
        let widths = ShareBar.widths(shares.map(\.count), width: columns)
        return "  all  "
            + zip(shares, widths).map { colour($0.outcome.colour, String(repeating: "█", count: $1)) }.joined()
    }

    private func legend(_ width: Int) -> String {
        let sum = max(1, shares.reduce(0) { $0 + $1.count })
        let texts = shares.map { "\($0.outcome.rawValue) \((100 * Double($0.count) / Double(sum)).fixed(1)) %" }
        // Colours are added to whole words, so that what is clipped has no colour left open.
        var line = "       ", length = line.count
        for (share, text) in zip(shares, texts) where length + text.count + 2 < width {
            line += colour(share.outcome.colour, text) + "  "
            length += text.count + 2
        }
        return line
    }

    private func events(upTo second: Double, _ width: Int) -> String {
        guard let mark = marks.filter({ $0.seconds <= second }).max(by: { $0.seconds < $1.seconds }) else { return "" }
        return clip("  \(PlainNumber.text(mark.seconds)) s: \(mark.text)", width)
    }

    private static func figure(_ value: Double?) -> String { value.map { "\($0.fourDigits) ms" } ?? "–" }

    private func clip(_ text: String, _ width: Int) -> String { String(text.prefix(max(0, width - 10))) }
}

// MARK: - Colours

extension LiveView {
    /// ECMA-48 §8.3.117, select graphic rendition.
    enum Colour: Int {
        case red = 31, green, yellow, blue, magenta, cyan
        case grey = 90
    }

    private func colour(_ colour: Colour, _ text: String) -> String { rendered(colour.rawValue, text) }
    private func bold(_ text: String) -> String { rendered(1, text) }
    private func dim(_ text: String) -> String { rendered(2, text) }

    private func rendered(_ code: Int, _ text: String) -> String {
        hasColours && !text.isEmpty ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}

extension Outcome {
    fileprivate var colour: LiveView.Colour {
        switch self {
        case .hitNear, .hitShared, .ok: .green
        case .local: .cyan
        case .upstream, .collapsed: .blue
        case .stale, .shed: .yellow
        case .rejected, .undecided: .magenta
        case .refused: .grey
        case .error: .red
        }
    }
}
