// SPDX-License-Identifier: Apache-2.0

internal import JSON

/// Names with values, as OpenTelemetry's variables have them: `name=value,name=value`, percent-encoded (W3C Baggage
/// without properties).
package struct KeyValueList: Hashable, Sendable, ConfigurationValue {
    package struct Entry: Hashable, Sendable {
        package let name: String
        package let value: String
    }

    package enum Limits {
        package static let entries = 64
    }

    package private(set) var entries: [Entry] = []
    package let configurationText: String

    package static var accepted: String { "a list such as name=value,name=value, with commas in values as %2C" }

    package init() { configurationText = "" }

    /// The faults say nothing of the text, which may be secret.
    package init(configuration text: String) throws(ConfigurationValueFault) {
        configurationText = text
        for (index, part) in text.split(separator: ",").enumerated() {
            guard index < Limits.entries else { throw Self.fault("the list has more than \(Limits.entries) entries") }
            guard let entry = Entry(part) else { throw Self.fault("entry \(index + 1) of the list cannot be read") }
            entries.append(entry)
        }
    }

    private static func fault(_ description: String) -> ConfigurationValueFault {
        ConfigurationValueFault(description: description)
    }
}

extension KeyValueList.Entry {
    fileprivate init?(_ text: Substring) {
        guard let equals = text.firstIndex(of: "=") else { return nil }
        let name = text[..<equals].trimmingWhiteSpace(), value = text[equals...].dropFirst().trimmingWhiteSpace()
        guard !name.isEmpty, let bytes = value.utf8.span.percentDecoded(), let decoded = String(outside: bytes) else {
            return nil
        }
        self.init(name: name, value: decoded)
    }
}
