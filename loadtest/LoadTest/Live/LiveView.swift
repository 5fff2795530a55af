// SPDX-License-Identifier: Apache-2.0

struct LiveView {
    let plan: LoadPlan
    let marks: [RunResult.Mark]
    let hasColours: Bool
    let listens: Bool
    private(set) var seconds: [RunResult.Second] = []
    private(set) var counts = RequestCounts()

    mutating func add(_ second: RunResult.Second, _ counts: RequestCounts) {
        // No terminal is wider.
        if seconds.count >= 1000 { seconds.removeFirst() }
        seconds.append(second)
        self.counts.add(counts)
    }

    func lines(width: Int) -> [String] {
        guard let last = seconds.last else { return ["connected to \(plan.target.authority)"] }
        let columns = max(10, min(60, width - 24))
        let lines = [
            styled(.bold, clip(plan.target.url, width)) + (listens ? styled(.dim, "   q stops") : ""),
            progress(last, columns),
            rate(last),
            latency("p50", .cyan, \.p50Ms, columns), latency("p99", .yellow, \.p99Ms, columns),
            answers(columns),
            legend(width),
            "  send lag p99 \(last.sendLagP99Ms.millisecondsText), late \(counts.late.grouped) of \(counts.intended.grouped)",
            events(upTo: Double(last.second + 1), width),
        ]
        return lines.map { Self.fit($0, width) }
    }

    /// Returns the start of a line that is too long, without colours: of two lines the next drawing would leave one
    /// line.
    private static func fit(_ line: String, _ width: Int) -> String {
        let plain = line.replacing(/\u{1B}\[\d+m/, with: "")
        return plain.count <= width ? line : String(plain.prefix(width))
    }

    private func latency(
        _ name: String, _ style: Style, _ figure: (RunResult.Second) -> Double?, _ columns: Int
    ) -> String {
        let values = seconds.map(figure)
        return
            "  \(name)  \(styled(style, Sparkline.text(values, width: columns)))  \((values.last ?? nil).millisecondsText)"
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
            + (counts.errors > 0 ? styled(.red, problems) : problems)
    }

    private var shares: [(outcome: LoadOutcome, count: Int)] {
        LoadOutcome.allCases.map { ($0, counts[$0]) }.filter { $0.1 > 0 }
    }

    private func answers(_ columns: Int) -> String {
        let widths = ShareBar.widths(shares.map(\.count), width: columns)
        return "  all  "
            + zip(shares, widths).map { styled($0.outcome.style, String(repeating: "█", count: $1)) }.joined()
    }

    private func legend(_ width: Int) -> String {
        let sum = max(1, shares.reduce(0) { $0 + $1.count })
        let texts = shares.map { "\($0.outcome.rawValue) \((100 * Double($0.count) / Double(sum)).fixed(1)) %" }
        // Colours are added to whole words, so that clipping leaves none open.
        var line = "       ", length = line.count
        for (share, text) in zip(shares, texts) where length + text.count + 2 < width {
            line += styled(share.outcome.style, text) + "  "
            length += text.count + 2
        }
        return line
    }

    private func events(upTo second: Double, _ width: Int) -> String {
        guard let mark = marks.filter({ $0.atSeconds <= second }).max(by: { $0.atSeconds < $1.atSeconds }) else {
            return ""
        }
        return clip("  \(PlainNumber.text(mark.atSeconds)) s: \(mark.text)", width)
    }

    private func clip(_ text: String, _ width: Int) -> String { String(text.prefix(max(0, width - 10))) }
}

// MARK: - Styles

extension LiveView {
    /// ECMA-48 §8.3.117, select graphic rendition.
    enum Style: Int {
        case bold = 1, dim
        case red = 31, green, yellow, blue, magenta, cyan
        case grey = 90
    }

    private func styled(_ style: Style, _ text: String) -> String {
        hasColours && !text.isEmpty ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }
}

extension LoadOutcome {
    fileprivate var style: LiveView.Style {
        switch self {
        case .hitNear, .hitShared, .ok: .green
        case .local: .cyan
        case .upstream, .collapsed: .blue
        case .stale, .degraded, .shed: .yellow
        case .rejected, .undecided: .magenta
        case .refused: .grey
        case .error: .red
        }
    }
}

enum Sparkline {
    private static let bars: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    /// Returns a character for each of the last numbers, the largest full; a space for nil.
    static func text(_ values: [Double?], width: Int) -> String {
        let shown = values.suffix(width)
        let most = shown.compactMap(\.self).max() ?? 0
        return String(
            shown.map { value in
                guard let value else { return " " }
                guard most > 0 else { return bars[0] }
                return bars[min(bars.count - 1, Int(value / most * Double(bars.count)))]
            })
    }
}

enum ShareBar {
    /// Returns the number of characters for each part; their sum is `width`, if there is anything.
    static func widths(_ parts: [Int], width: Int) -> [Int] {
        let sum = max(1, parts.reduce(0, +))
        var before = 0, count = 0
        return parts.map { part in
            defer { before = (count * width + sum - 1) / sum }
            count += part
            return (count * width + sum - 1) / sum - before
        }
    }
}
