// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON

/// Members of a request's log line, such as those its handler adds. A handler's are also attributes of the request's span.
///
/// An object, because a cached answer has them for all requests that get it; their JSON is written once.
package final class LogMembers: Sendable {
    /// The members as written, without the braces of their object.
    private let json: [UInt8]

    /// - Parameters:
    ///   - texts: the members with texts; members without a value are left out.
    ///   - durations: the members in milliseconds, which only the log line has.
    package init(
        _ texts: KeyValuePairs<StaticString, String?>, durations: KeyValuePairs<StaticString, Duration?> = [:]
    ) {
        var json = JSONWriter()
        json.object { json in
            for (name, text) in texts { json.member(name, text) }
            for (name, duration) in durations { json.member(name, milliseconds: duration) }
        }
        self.json = Array(json.bytes.dropFirst().dropLast())
    }

    func write(to json: inout JSONWriter) {
        if !self.json.isEmpty { json.members(self.json[...]) }
    }

    /// The members with texts, for traces: read from their JSON, because few requests are traced.
    var texts: [(name: String, text: String)] {
        let object = try? JSONValue(parsing: Array("{".utf8) + json + Array("}".utf8))
        return (object?.members ?? []).compactMap { member in
            guard let name = member.name.string, let text = member.value.string else { return nil }
            return (name, text)
        }
    }
}

extension JSONWriter {
    /// Writes milliseconds with their fraction; nothing for nil.
    mutating func member(_ name: StaticString, milliseconds value: Duration?) {
        guard let value else { return }
        key(name)
        decimal(max(0, Int64(clamping: value.attoseconds / 1_000_000_000)), places: 6)
    }
}
