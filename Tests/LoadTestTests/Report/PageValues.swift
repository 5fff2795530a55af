// SPDX-License-Identifier: Apache-2.0

import Foundation
import JSON

/// The numbers of a page, for comparison with the JSON they come from.
struct PageValues {
    /// Place in the JSON, the number beside it, and what readers see.
    let values: [(path: String, value: String, text: String)]

    /// Of a page as a browser wrote it back.
    init(_ html: String) {
        values = html.matches(of: #/<data data-path="([^"]*)" value="([^"]*)">([^<]*)</data>/#).map {
            (String($0.output.1), String($0.output.2), String($0.output.3))
        }
    }

    /// Returns the numbers that do not agree, in words.
    func faults(against json: JSONValue) -> [String] {
        values.compactMap { path, value, text in
            guard let number = Self.number(at: path, in: json) else { return "\(path) is no number of the result" }
            guard number == Double(value) else { return "\(path) is \(number), the page says \(value)" }
            return Self.shows(text, number) ? nil : "\(path) is \(number), readers see \(text)"
        }
    }

    private static func number(at path: String, in json: JSONValue) -> Double? {
        var value: JSONValue? = json
        for step in path.split(separator: ".") {
            value =
                Int(step).flatMap { index in
                    value?.elements.flatMap { $0.indices.contains(index) ? $0[index] : nil }
                } ?? value?[String(step)]
        }
        return value?.number.flatMap { Double($0.text) }
    }

    /// Returns true if the text is the number rounded to the digits it shows. Shares may be shown as percentages.
    private static func shows(_ text: String, _ number: Double) -> Bool {
        let digits = text.replacingOccurrences(of: ",", with: "").prefix { $0.isNumber || $0 == "." || $0 == "-" }
        guard let shown = Double(digits) else { return false }
        let decimals = digits.contains(".") ? digits.split(separator: ".")[1].count : 0
        let half = 0.5 * pow(10, -Double(decimals)) * (1 + 1e-9)
        return (shown - number).magnitude <= half || (shown - 100 * number).magnitude <= half
    }

    /// The JSON in the page.
    static func embedded(in html: String) -> String? {
        html.firstRange(of: "<script type=\"application/json\" id=\"result\">").flatMap { start in
            html[start.upperBound...].firstRange(of: "</script>").map { String(html[start.upperBound..<$0.lowerBound]) }
        }
    }
}
