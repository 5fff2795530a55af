// SPDX-License-Identifier: Apache-2.0

internal import Receipts

extension Span<UInt8> {
    /// True for a list of media ranges (RFC 9110 §12.5.1) that has a signed answer, and not JSON.
    var acceptsJOSE: Bool {
        names(mediaType: "application/jose") && !names(mediaType: "application/json")
    }

    /// Returns true if a list of media ranges has this one, and not with the weight 0 (RFC 9110 §12.5.1).
    private func names(mediaType: String) -> Bool {
        var start = 0
        while start + mediaType.utf8.count <= count {
            let end = firstIndex(of: UInt8(ascii: ","), from: start) ?? count
            let range = extracting(start..<end)
            let typeEnd = range.firstIndex(of: UInt8(ascii: ";"), from: 0) ?? range.count
            if range.extracting(range.trimmed(0..<typeEnd)).equalsIgnoringCase(mediaType) {
                return !range.extracting(typeEnd...).hasWeightZero
            }
            start = end + 1
        }
        return false
    }

    /// True for parameters with `q=0`, with or without decimals (RFC 9110 §12.4.2).
    private var hasWeightZero: Bool {
        var start = 0
        while start < count {
            let end = firstIndex(of: UInt8(ascii: ";"), from: start + 1) ?? count
            let parameter = extracting(trimmed(start + 1..<end))
            if parameter.count > 2, parameter.extracting(..<2).equalsIgnoringCase("q=") {
                return (2..<parameter.count).allSatisfy {
                    parameter[$0] == UInt8(ascii: "0") || parameter[$0] == UInt8(ascii: ".")
                }
            }
            start = end
        }
        return false
    }
}
