// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension Plot {
    /// The drawing as SVG; `name` is its own on the page.
    func drawing(in frame: PlotFrame, name: String) -> Markup {
        let sheet = PlotSheet(plot: self, frame: frame)
        let (title, summary) = ("\(name)-\(frame.name)-title", "\(name)-\(frame.name)-desc")
        return .tag(
            "svg",
            [
                "class": frame.name.description, "role": "img", "aria-labelledby": "\(title) \(summary)",
                "viewBox": "0 0 \(frame.width.pixels) \(sheet.height.pixels)",
            ],
            .tag("title", ["id": title], .text(self.title)), .tag("desc", ["id": summary], .text(self.summary)),
            sheet.ground, areas.map(sheet.area).group, lines.map(sheet.line).group, sheet.axes, sheet.markLines)
    }
}

/// One plot on one frame: from values to coordinates.
struct PlotSheet: Sendable {
    let plot: Plot
    let frame: PlotFrame
    private let labels: MarkLabels
    private let top: Double

    /// Corners up to which neighbouring areas have a seam between them; more would be nothing but seams.
    private static let seams = 240
    private static let labelHeight = 16.0
    private var bottom: Double { plot.x.unit.isEmpty ? 24 : 40 }

    init(plot: Plot, frame: PlotFrame) {
        self.plot = plot
        self.frame = frame
        let room = frame.left...(frame.width - frame.right)
        let marks = plot.marks.prefix(MarkLabels.maximumMarks).map { mark in
            (Self.x(mark.atSeconds, plot, frame), mark.text)
        }
        labels = MarkLabels(marks, within: room, letters: frame.markLetters, unit: plot.y.unit)
        top = 30 + Double(max(0, labels.rows - 1)) * Self.labelHeight
    }

    /// Of the whole drawing: marks have their names above it.
    var height: Double { frame.height + Double(max(0, labels.rows - 1)) * Self.labelHeight }

    private var floor: Double { height - bottom }
    private var end: Double { frame.width - frame.right }

    private static func x(_ value: Double, _ plot: Plot, _ frame: PlotFrame) -> Double {
        frame.left + plot.x.scale.fraction(of: value) * (frame.width - frame.right - frame.left)
    }

    private func x(_ value: Double) -> Double { Self.x(value, plot, frame) }
    private func y(_ value: Double) -> Double { floor - plot.y.scale.fraction(of: value) * (floor - top) }

    // MARK: - What was measured

    /// A piece of one point is a dot: a line needs two.
    func line(_ line: Plot.Line) -> Markup {
        let style = "line stroke-\(line.hue)" + (line.isDashed ? " dashed" : "") + (line.isThin ? " thin" : "")
        let path = line.pieces.filter { $0.count > 1 }.map { PathData(of: $0.map(place)).text }.joined()
        let dots = line.pieces.filter { $0.count == 1 }.compactMap(\.first).map { point in
            let (x, y) = place(point)
            return Markup.tag("circle", ["class": "fill-\(line.hue)", "cx": x.pixels, "cy": y.pixels, "r": "3"])
        }
        return [path.isEmpty ? .nothing : .tag("path", ["class": style, "d": path]), dots.group]
    }

    func area(_ area: Plot.Area) -> Markup {
        guard !area.upper.isEmpty else { return .nothing }
        let outline = area.upper.map(place) + area.lower.reversed().map(place)
        return .tag(
            "path",
            [
                "class":
                    "\(area.isBand ? "band" : area.upper.count > Self.seams ? "area" : "area seam") fill-\(area.hue)",
                "d": PathData(of: outline).text + "Z",
            ])
    }

    private func place(_ point: Plot.Point) -> (x: Double, y: Double) { (x(point.x), y(point.y)) }

    // MARK: - What it is measured by

    /// What does not count, and the lines of the grid.
    var ground: Markup {
        [
            shade(0, plot.warmup, "warm-up"), shade(plot.end ?? .infinity, .infinity, "afterwards"),
            plot.y.ticks(atMost: frame.yTicks).map { rule(at: y($0.value)) }.group,
        ]
    }

    /// Time that does not count; named where there is room.
    private func shade(_ start: Double, _ end: Double, _ name: String) -> Markup {
        let (left, width) = (x(start), x(end) - x(start))
        guard width >= 0.5 else { return .nothing }
        return [
            .tag(
                "rect",
                [
                    "class": "aside-time", "x": left.pixels, "y": top.pixels, "width": width.pixels,
                    "height": (floor - top).pixels,
                ], .tag("title", [:], .text(name))),
            width > Double(name.count) * 8
                ? .tag("text", ["x": (left + 6).pixels, "y": (top + 14).pixels], .text(name)) : .nothing,
        ]
    }

    private func rule(at y: Double) -> Markup {
        .tag(
            "line", ["class": "gridline", "x1": frame.left.pixels, "x2": end.pixels, "y1": y.pixels, "y2": y.pixels])
    }

    /// Numbers, units, and the line they stand on.
    var axes: Markup {
        [
            .tag(
                "line",
                [
                    "class": "baseline", "x1": frame.left.pixels, "x2": end.pixels, "y1": floor.pixels,
                    "y2": floor.pixels,
                ]),
            .tag("text", ["x": "0", "y": (top - 14).pixels], .text(plot.y.unit)),
            plot.x.unit.isEmpty
                ? .nothing
                : .tag("text", ["x": end.pixels, "y": (height - 4).pixels, "text-anchor": "end"], .text(plot.x.unit)),
            plot.y.ticks(atMost: frame.yTicks).map(yLabel).group,
            plot.x.ticks(atMost: frame.xTicks).map(xLabel).group,
        ]
    }

    private func yLabel(_ tick: Axis.Tick) -> Markup {
        .tag(
            "text", ["x": (frame.left - 8).pixels, "y": (y(tick.value) + 4).pixels, "text-anchor": "end"],
            .text(tick.label))
    }

    private func xLabel(_ tick: Axis.Tick) -> Markup {
        let x = x(tick.value)
        // At the right end there is no room for half a label.
        let anchor = x > end - 12 ? "end" : "middle"
        return [
            .tag(
                "line",
                ["class": "baseline", "x1": x.pixels, "x2": x.pixels, "y1": floor.pixels, "y2": (floor + 4).pixels]),
            .tag("text", ["x": x.pixels, "y": (floor + 18).pixels, "text-anchor": anchor], .text(tick.label)),
        ]
    }

    // MARK: - What happened

    var markLines: Markup {
        let lines = plot.marks.prefix(MarkLabels.maximumMarks).map { mark in
            let x = x(mark.atSeconds).pixels
            return Markup.tag(
                "line", ["class": "mark", "x1": x, "x2": x, "y1": top.pixels, "y2": floor.pixels],
                .tag("title", [:], .text(mark.text)))
        }
        let texts = labels.labels.map { label in
            Markup.tag(
                "text",
                [
                    "class": "mark-label", "x": label.x.pixels,
                    "y": (top - 8 - Double(label.row) * Self.labelHeight).pixels,
                    "text-anchor": label.isBefore ? "end" : "start",
                ], .text(label.text))
        }
        return [lines.group, texts.group]
    }
}
