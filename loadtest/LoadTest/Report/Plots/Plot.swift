// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Lines and areas over two axes, as a value: the drawing is in `Plot+Drawing`.
struct Plot: Sendable {
    /// What it shows, for those who do not see it.
    var title: String
    /// What is to be seen in it, in words and numbers.
    var summary: String
    var x: Axis
    var y: Axis
    /// Drawn in this order, below the lines.
    var areas: [Area] = []
    var lines: [Line] = []
    /// Until when the run was warming up; 0 if it did not.
    var warmup = 0.0
    /// From when on nothing was due any more; nil if that is the end of the axis.
    var end: Double?
    var marks: [RunResult.Mark] = []

    typealias Point = RunResult.Point

    struct Line: Sendable {
        var hue: Hue
        /// Runs of points without a gap between them.
        var pieces: [[Point]]
        var isDashed = false
        var isThin = false
    }

    /// What lies between two lines of as many points.
    struct Area: Sendable {
        var hue: Hue
        var lower: [Point]
        var upper: [Point]
        /// Behind a line, rather than something of its own.
        var isBand = false
    }
}

/// The room of a drawing, in units of which a page has about one for each pixel.
struct PlotFrame: Sendable {
    let name: StaticString
    let width: Double
    let height: Double
    let left: Double
    let right: Double
    let xTicks: Int
    let yTicks: Int
    /// Letters of a mark's name.
    let markLetters: Int

    /// For a desk and for paper.
    static let wide = PlotFrame(
        name: "wide", width: 1000, height: 270, left: 52, right: 14, xTicks: 12, yTicks: 5, markLetters: 40)
    /// For a phone.
    static let narrow = PlotFrame(
        name: "narrow", width: 348, height: 230, left: 42, right: 10, xTicks: 5, yTicks: 5, markLetters: 18)
    /// Beside another one.
    static let half = PlotFrame(
        name: "wide", width: 470, height: 190, left: 46, right: 12, xTicks: 6, yTicks: 4, markLetters: 20)
    /// Beside a few facts.
    static let low = PlotFrame(
        name: "wide", width: 590, height: 210, left: 48, right: 14, xTicks: 8, yTicks: 4, markLetters: 20)
    /// Beside a table.
    static let most = PlotFrame(
        name: "wide", width: 590, height: 390, left: 48, right: 14, xTicks: 8, yTicks: 7, markLetters: 20)
}
