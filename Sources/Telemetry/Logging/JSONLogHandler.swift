// SPDX-License-Identifier: Apache-2.0

internal import JSON
package import Logging
package import Receipts

/// Writes each log event as one JSON object on one line:
/// `{"time":"2026-01-31T12:00:00.123Z","level":"info","logger":"receipt-gateway","message":"request","status":200,...}`
///
/// Metadata are further members; numbers and booleans keep their JSON type.
package struct JSONLogHandler: LogHandler {
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    private var ownLevel: Logger.Level?
    private let settings: LogSettings
    private let label: String
    private let clock: @Sendable () -> Timestamp
    private let write: @Sendable ([UInt8]) -> Void

    /// The members of every line; metadata of the same name is dropped.
    private static let fixedNames: Set<String> = ["time", "level", "logger", "message"]

    /// - Parameters:
    ///   - settings: the minimum level, until a logger sets its own.
    ///   - metadataProvider: gives the metadata of the current task.
    ///   - write: takes a whole line with its line end.
    package init(
        label: String, settings: LogSettings, metadataProvider: Logger.MetadataProvider? = nil,
        clock: @escaping @Sendable () -> Timestamp = { .now() }, write: @escaping @Sendable ([UInt8]) -> Void
    ) {
        (self.metadataProvider, self.label, self.settings) = (metadataProvider, label, settings)
        (self.clock, self.write) = (clock, write)
    }

    package init(
        label: String, level: Logger.Level, clock: @escaping @Sendable () -> Timestamp = { .now() },
        write: @escaping @Sendable ([UInt8]) -> Void
    ) {
        self.init(label: label, settings: LogSettings(LogSettings.Values(level: level)), clock: clock, write: write)
    }

    package var logLevel: Logger.Level {
        get { ownLevel ?? settings.minimumLevel }
        set { ownLevel = newValue }
    }

    package subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let json = JSONWriter.object(reservingCapacity: 512) { json in
            json.member("time", clock().description)
            json.member("level", event.level.rawValue)
            json.member("logger", label)
            json.member("message", event.message.description)
            for (name, value) in merged(event.metadata) where !Self.fixedNames.contains(name) {
                json.key(named: name)
                json.value(value)
            }
            if let error = event.error { json.member("error", "\(type(of: error))") }
        }
        write(json + [UInt8(ascii: "\n")])
    }

    /// Returns the metadata sorted by name, so that lines of one kind look alike.
    private func merged(_ explicit: Logger.Metadata?) -> [(key: String, value: Logger.MetadataValue)] {
        var all = metadata
        if let provided = metadataProvider?.get() { all.merge(provided) { $1 } }
        if let explicit { all.merge(explicit) { $1 } }
        return all.sorted { $0.key < $1.key }
    }
}

extension JSONWriter {
    fileprivate mutating func value(_ value: Logger.MetadataValue) {
        switch value {
        case .string(let text): string(text)
        case .stringConvertible(let value as any FixedWidthInteger): integer(value)
        case .stringConvertible(let value as Double): number(value)
        case .stringConvertible(let value as Bool): bool(value)
        case .stringConvertible(let value): string(value.description)
        case .array(let values): array { json in for value in values { json.value(value) } }
        case .dictionary(let members):
            object { json in
                for (name, value) in members.sorted(by: { $0.key < $1.key }) {
                    json.key(named: name)
                    json.value(value)
                }
            }
        }
    }
}
