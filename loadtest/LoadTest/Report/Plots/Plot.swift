// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A figure of a page: series over two axes, with a heading, a legend, a caption, and the numbers as a table.
struct Plot: Sendable {
    /// Unique on the page.
    let name: String
    let heading: String
    let x, y: Axis
    var series: [Series]
    var caption = ""
    var table: DataTable?
    var frames = [PlotFrame.wide, .narrow]
    /// The length of the warm-up in seconds, and the time from which nothing was due any more.
    var warmup = 0.0
    var end = Double.infinity
    var marks: [RunResult.Mark] = []

    typealias Point = RunResult.Point

    /// Drawn in their order.
    struct Series: Sendable {
        var name = ""
        let hue: Hue
        var style = Style.line
        /// Runs of points without a gap between them; of an area, its outline.
        let pieces: [[Point]]

        var values: [Double] { pieces.joined().map(\.y) }
    }

    /// The classes of a path; bands are areas behind a line.
    enum Style: String, Sendable {
        case line, area, band
        case thin = "line thin"
        case dashed = "line dashed"
        case target = "line dashed thin"

        var isArea: Bool { self == .area || self == .band }
    }

    var html: HTML {
        let numbers = table.map { "<details><summary>Numbers as a table</summary>\($0.html)</details>\n" as HTML }
        return """
            <figure id="\(name)"><h3>\(heading)</h3>
            \(legend)\(frames.map { PlotSheet(plot: self, frame: $0).html })
            \(caption.isEmpty ? nil : "<figcaption>\(caption)</figcaption>")\(numbers)</figure>

            """
    }

    /// Areas from the top of their stack downwards, then lines.
    private var legend: HTML? {
        let named = series.filter { !$0.name.isEmpty && !$0.pieces.isEmpty }
        let entries = named.filter(\.style.isArea).reversed() + named.filter { !$0.style.isArea }
        return entries.isEmpty ? nil : "<ul class=\"legend\">\(entries.map(entry))</ul>\n"
    }

    private func entry(_ series: Series) -> HTML {
        let sample: HTML =
            series.style.isArea
            ? #"<rect class="fill-\#(series.hue)" x="5" y="0" width="12" height="12" rx="2"/>"#
            : #"<path class="\#(series.style.rawValue) stroke-\#(series.hue)" d="M1 6H21"/>"#
        return #"<li><svg viewBox="0 0 22 12" aria-hidden="true">\#(sample)</svg>\#(series.name)</li>"#
    }

    /// The description for readers who do not see the drawing: `p99 1.2 to 31 ms; p50 was not measured.`
    var description: String {
        let ranges = series.map { series in
            if series.style.isArea { return series.name }
            guard let lowest = series.values.min(), let highest = series.values.max() else {
                return "\(series.name) was not measured"
            }
            return [series.name, lowest.significant, "to", highest.significant, y.unit].filter { !$0.isEmpty }
                .joined(separator: " ")
        }
        return ranges.filter { !$0.isEmpty }.joined(separator: "; ") + "."
    }
}

/// The size of a drawing, in units of about a pixel, and the number of ticks and of letters in a mark's name.
struct PlotFrame: Sendable {
    let name: HTML
    let size: (width: Double, height: Double)
    let left, right: Double
    let ticks: (x: Int, y: Int)
    let letters: Int

    /// For screens and paper.
    static let wide = PlotFrame(name: "wide", size: (1000, 270), left: 52, right: 14, ticks: (12, 5), letters: 40)
    /// For phones.
    static let narrow = PlotFrame(name: "narrow", size: (348, 230), left: 42, right: 10, ticks: (5, 5), letters: 18)
    /// Beside another plot, a list of facts, a table.
    static let half = PlotFrame(name: "wide", size: (470, 190), left: 46, right: 12, ticks: (6, 4), letters: 20)
    static let low = PlotFrame(name: "wide", size: (590, 210), left: 48, right: 14, ticks: (8, 4), letters: 20)
    static let high = PlotFrame(name: "wide", size: (590, 390), left: 48, right: 14, ticks: (8, 7), letters: 20)
}
