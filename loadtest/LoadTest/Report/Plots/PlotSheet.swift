// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

struct PlotSheet: Sendable {
    private let plot: Plot
    private let frame: PlotFrame
    private let labels: MarkLabels
    private let top, end: Double
    /// The lower edge of the plot, and of the drawing.
    private let floor, height: Double

    /// The number of corners up to which areas have a seam between them; with more, only seams would be seen.
    private static let seams = 480
    private static let labelHeight = 16.0

    init(plot: Plot, frame: PlotFrame) {
        self.plot = plot
        self.frame = frame
        let end = frame.size.width - frame.right
        labels = MarkLabels(
            plot.marks.prefix(MarkLabels.maximumMarks).map { mark in
                (frame.left + plot.x.fraction(of: mark.atSeconds) * (end - frame.left), mark.text)
            }, within: frame.left...end, letters: frame.letters, unit: plot.y.unit)
        let labelRoom = Double(max(0, labels.rows - 1)) * Self.labelHeight
        self.end = end
        top = 30 + labelRoom
        height = frame.size.height + labelRoom
        floor = height - (plot.x.unit.isEmpty ? 24 : 40)
    }

    var html: HTML {
        let name: HTML = "\(plot.name)-\(frame.name)"
        return """
            <svg class="\(frame.name)" role="img" aria-labelledby="\(name)-title \(name)-desc" \
            viewBox="0 0 \(frame.size.width) \(height)">
            <title id="\(name)-title">\(plot.heading)</title><desc id="\(name)-desc">\(plot.description)</desc>
            \(shade(0, plot.warmup, "warm-up"))\(shade(plot.end, .infinity, "afterwards"))\(grid)
            \(plot.series.filter { $0.style != .target }.map(draw))
            \(plot.series.filter { $0.style == .target }.map(draw))
            \(axes)\(marks)</svg>

            """
    }

    private func x(_ value: Double) -> Double { frame.left + plot.x.fraction(of: value) * (end - frame.left) }
    private func y(_ value: Double) -> Double { floor - plot.y.fraction(of: value) * (floor - top) }

    // MARK: - Series

    private func draw(_ series: Plot.Series) -> HTML {
        let style = series.style.rawValue, hue = series.hue
        let shapes = series.pieces.filter { !$0.isEmpty }.map { points -> HTML in
            if series.style.isArea {
                let seam: HTML? = series.style == .area && points.count <= Self.seams ? " seam" : nil
                return #"<path class="\#(style)\#(seam) fill-\#(hue)" d="\#(path(points))Z"/>"#
            }
            // A line needs two points; one alone is a dot.
            return points.count == 1
                ? #"<circle class="fill-\#(hue)" cx="\#(x(points[0].x))" cy="\#(y(points[0].y))" r="3"/>"#
                : #"<path class="\#(style) stroke-\#(hue)" d="\#(path(points))"/>"#
        }
        return "\(shapes)\n"
    }

    /// Path data of SVG 2 §9.3, `M0 10L5 3.2H9`: one move, then lines; points equal to the point before are left out.
    private func path(_ points: [Plot.Point]) -> HTML {
        var data = "", last = (x: "", y: "")
        for point in points {
            let next = (x: x(point.x).pixels, y: y(point.y).pixels)
            if data.isEmpty {
                data = "M\(next.x) \(next.y)"
            } else if next.y != last.y {
                data += next.x == last.x ? "V\(next.y)" : "L\(next.x) \(next.y)"
            } else if next.x != last.x {
                data += "H\(next.x)"
            }
            last = next
        }
        return "\(data)"
    }

    // MARK: - Axes

    /// Time that does not count, named where there is room.
    private func shade(_ start: Double, _ end: Double, _ name: String) -> HTML? {
        let (left, width) = (x(start), x(end) - x(start))
        guard width >= 0.5 else { return nil }
        let label: HTML? =
            width > Double(name.count) * 8 ? #"<text x="\#(left + 6)" y="\#(top + 14)">\#(name)</text>"# : nil
        return """
            <rect class="aside-time" x="\(left)" y="\(top)" width="\(width)" height="\(floor - top)">\
            <title>\(name)</title></rect>\(label)
            """
    }

    private var grid: [HTML] {
        plot.y.ticks(atMost: frame.ticks.y).map { tick in
            let y = y(tick.value)
            return """
                <line class="gridline" x1="\(frame.left)" x2="\(end)" y1="\(y)" y2="\(y)"/>\
                <text x="\(frame.left - 8)" y="\(y + 4)" text-anchor="end">\(tick.label)</text>
                """
        }
    }

    private var axes: HTML {
        let labels = plot.x.ticks(atMost: frame.ticks.x).map { tick -> HTML in
            let x = x(tick.value)
            // At the right end there is no room for half a label.
            return """
                <line class="baseline" x1="\(x)" x2="\(x)" y1="\(floor)" y2="\(floor + 4)"/>\
                <text x="\(x)" y="\(floor + 18)" text-anchor="\(x > end - 12 ? "end" : "middle")">\(tick.label)</text>
                """
        }
        let unit: HTML = #"<text x="\#(end)" y="\#(height - 4)" text-anchor="end">\#(plot.x.unit)</text>"#
        return """
            <line class="baseline" x1="\(frame.left)" x2="\(end)" y1="\(floor)" y2="\(floor)"/>
            <text x="0" y="\(top - 14)">\(plot.y.unit)</text>\(plot.x.unit.isEmpty ? nil : unit)\(labels)

            """
    }

    private var marks: HTML {
        let lines = plot.marks.prefix(MarkLabels.maximumMarks).map { mark -> HTML in
            let x = x(mark.atSeconds)
            let title: HTML = "<title>\(mark.text)</title>"
            return #"<line class="mark" x1="\#(x)" x2="\#(x)" y1="\#(top)" y2="\#(floor)">\#(title)</line>"#
        }
        let names = labels.labels.map { label -> HTML in
            """
            <text class="mark-label" x="\(label.x)" y="\(top - 8 - Double(label.row) * Self.labelHeight)" \
            text-anchor="\(label.isBefore ? "end" : "start")">\(label.text)</text>
            """
        }
        return "\(lines)\(names)"
    }
}

/// The names of marks above a plot, in rows so that none covers another.
struct MarkLabels: Sendable {
    struct Label: Hashable, Sendable {
        let text: String
        let x: Double
        let row: Int
        /// True if the text ends at its line, because it has no room to the right.
        let isBefore: Bool
    }

    /// Names without room are left out; their lines are drawn.
    private(set) var labels: [Label] = []
    private var taken: [[ClosedRange<Double>]] = []
    var rows: Int { taken.count }

    static let maximumRows = 3
    /// The number of lines that are drawn.
    static let maximumMarks = 200
    private static let letterWidth = 6.7

    /// Places names at their moments, the earlier first. The unit of the plot takes the left end of the lowest row.
    init(_ marks: [(x: Double, text: String)], within room: ClosedRange<Double>, letters: Int, unit: String) {
        if !marks.isEmpty { taken = [[0...Double(unit.count) * Self.letterWidth]] }
        for (x, text) in marks {
            place(text.count <= letters ? text : text.prefix(letters - 1) + "…", at: x, room)
        }
    }

    private mutating func place(_ text: String, at x: Double, _ room: ClosedRange<Double>) {
        let width = Double(text.count) * Self.letterWidth
        let isBefore = x + 4 + width > room.upperBound
        let span = isBefore ? (x - 8 - width)...(x - 2) : (x + 2)...(x + 8 + width)
        guard !text.isEmpty, span.lowerBound >= room.lowerBound || !isBefore else { return }
        let row = taken.firstIndex { row in !row.contains { $0.overlaps(span) } } ?? rows
        guard row < Self.maximumRows else { return }
        if row == rows { taken.append([]) }
        taken[row].append(span)
        labels.append(Label(text: text, x: isBefore ? x - 4 : x + 4, row: row, isBefore: isBefore))
    }
}
