// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The way of a pen, in the words of SVG 2 §9.3.
struct PathData: Sendable {
    /// `M0 10L5 3.2H9`: one move, then lines; points that fall on the one before are left out.
    let text: String

    init(of points: some Sequence<(x: Double, y: Double)>) {
        var text = "", last = (x: "", y: "")
        for point in points {
            let next = (x: point.x.pixels, y: point.y.pixels)
            if text.isEmpty {
                text = "M\(next.x) \(next.y)"
            } else if next.y != last.y {
                text += next.x == last.x ? "V\(next.y)" : "L\(next.x) \(next.y)"
            } else if next.x != last.x {
                text += "H\(next.x)"
            }
            last = next
        }
        self.text = text
    }
}

extension Double {
    /// A coordinate, to a tenth.
    var pixels: String {
        let text = fixed(1)
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
