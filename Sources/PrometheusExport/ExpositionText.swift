// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

// The text format 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/

extension MetricFamily {
    /// The HELP and TYPE lines of the family.
    var headText: String {
        let text = help.escaped([#"\"#: #"\\"#, "\n": #"\n"#])
        return "# HELP \(name) \(text)\n# TYPE \(name) \(typeName)\n"
    }

    private var typeName: String {
        switch kind {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        }
    }

    /// Returns the lines of a series up to their values: one, or for a histogram one per bucket, the sum and the count.
    func lineStarts(_ labelValues: [String]) -> [String] {
        let labels = zip(labelNames, labelValues).map { name, value in Self.label(name, value) }
        guard case .histogram(let bounds) = kind else { return [Self.lineStart(name, labels)] }
        let buckets = (bounds + [.infinity]).map { bound in
            Self.lineStart(name + "_bucket", labels + [Self.label("le", bound.metricText)])
        }
        return buckets + ["_sum", "_count"].map { Self.lineStart(name + $0, labels) }
    }

    private static func label(_ name: String, _ value: String) -> String {
        let text = value.escaped([#"\"#: #"\\"#, "\n": #"\n"#, "\"": #"\""#])
        return "\(name)=\"\(text)\""
    }

    private static func lineStart(_ name: String, _ labels: [String]) -> String {
        labels.isEmpty ? name + " " : "\(name){\(labels.joined(separator: ","))} "
    }
}

extension Double {
    /// The number as Go's `ParseFloat` reads it; integers without a decimal point.
    var metricText: String {
        if isNaN { return "NaN" }
        if isInfinite { return self < 0 ? "-Inf" : "+Inf" }
        return Int64(exactly: self).map { String($0) } ?? description
    }
}

extension String {
    fileprivate func escaped(_ replacements: [Unicode.Scalar: String]) -> String {
        unicodeScalars.reduce(into: "") { text, scalar in text += replacements[scalar] ?? String(scalar) }
    }
}
