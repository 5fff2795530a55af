// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A plot with its heading, its legend, what is to be known of it, and its numbers as a table.
struct Figure: Sendable {
    /// Its own on the page.
    let name: String
    let heading: String
    let plot: Plot
    var legend: [Entry] = []
    var caption = ""
    var table: DataTable?
    var frames = [PlotFrame.wide, .narrow]
    var isFirst = false

    struct Entry: Sendable {
        let words: String
        let hue: Hue
        var isDashed = false
        var isArea = false
    }

    var markup: Markup {
        .tag(
            "figure", ["id": name, "class": isFirst ? "first" : "later"],
            heading.isEmpty ? .nothing : .tag("h3", [:], .text(heading)),
            legend.isEmpty ? .nothing : .tag("ul", ["class": "legend"], legend.map(entry).group),
            frames.map { plot.drawing(in: $0, name: name) }.group,
            caption.isEmpty ? .nothing : .tag("figcaption", [:], .text(caption)),
            table.map(numbers) ?? .nothing)
    }

    private func entry(_ entry: Entry) -> Markup {
        let line = Markup.tag(
            "path", ["class": "line stroke-\(entry.hue)" + (entry.isDashed ? " dashed" : ""), "d": "M1 6H21"])
        let box = Markup.tag(
            "rect", ["class": "fill-\(entry.hue)", "x": "5", "y": "0", "width": "12", "height": "12", "rx": "2"])
        return .tag(
            "li", [:],
            .tag("svg", ["viewBox": "0 0 22 12", "aria-hidden": "true"], entry.isArea ? box : line),
            .text(entry.words))
    }

    private func numbers(_ table: DataTable) -> Markup {
        .tag("details", [:], .tag("summary", [:], .text("The numbers as a table")), table.markup)
    }
}
