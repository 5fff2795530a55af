// SPDX-License-Identifier: Apache-2.0

internal import Clients
package import HTTPServer
internal import HTTPTypes
internal import JSON
package import Logging
internal import NIOCore
package import Receipts
internal import Resilience
package import Telemetry

/// `GET /log-level` and `PUT /log-level` on the admin plane: the log settings, and a change of them for a limited time.
package struct LogLevelRoute: Sendable {
    let settings: LogSettings
    /// The logger of changes, whatever the level.
    let logger: Logger
    let clock: @Sendable () -> Timestamp

    enum Limits {
        static let span: ClosedRange<Duration> = .seconds(1) ... .seconds(86_400)
        static let textBytes = 32
    }

    static let path = "/log-level"

    package init(settings: LogSettings, logger: Logger, clock: @escaping @Sendable () -> Timestamp) {
        self.settings = settings
        self.clock = clock
        var logger = logger
        logger.logLevel = .trace
        self.logger = logger
    }

    package var routes: [Route] {
        [
            Route(.get, Self.path, authentication: .none) { _ in reply() },
            Route(.put, Self.path, authentication: .none) { context, body in .done(try change(context, body)) },
        ]
    }

    /// Changes the settings. The admin plane requires no key, and may be open to a network for readers of metrics: only
    /// loopback clients may change the log level.
    private func change(_ context: RequestContext, _ body: ReservedBody) throws -> Reply {
        guard let peer = context.peer, Loopback.contains(peer) else { throw Problem.onlyFromThisMachine }
        // A browser on this machine sends requests for pages from elsewhere, with their `Origin`.
        guard !context.header.hasOrigin else { throw Problem.onlyFromThisMachine }
        guard RequestMediaType.json.accepts(context.header.contentType) else { throw Problem.unsupportedMediaType }
        let wanted = try LogLevelBody(decoding: body.bytes.readableBytesUInt8Span)
        var values = settings.current.values
        if let level = wanted.level { values.level = level }
        if let requests = wanted.requests { values.requests = requests }
        settings.change(to: values, for: wanted.span, at: clock()) { restored in
            log("Log settings restored from the configuration", restored)
        }
        context.run { log("Log settings changed", settings.current) }
        return reply()
    }

    private func log(_ message: Logger.Message, _ current: LogSettings.Current) {
        var metadata: Logger.Metadata = [
            "log_level": "\(current.values.level)", "log_requests": "\(current.values.requests)",
        ]
        metadata["until"] = current.fallsBackAt.map { "\($0)" }
        logger.notice(message, metadata: metadata)
    }

    private func reply() -> Reply {
        let current = settings.current
        return Reply(fields: .ofUnstoredJSON) { json in
            json.member("level", current.values.level.rawValue)
            json.member("requests", current.values.requests.rawValue)
            json.member("until", current.fallsBackAt?.description)
        }
    }
}

/// `{"level": "debug", "requests": "all", "for": "10m"}`: at least one of the first two.
struct LogLevelBody: Hashable, Sendable {
    var level: Logger.Level?
    var requests: RequestLogging?
    var span: Duration?

    private enum Field: String, CaseIterable {
        case level, requests
        case span = "for"
    }

    init(decoding bytes: Span<UInt8>) throws(JSONFault) {
        var reader = JSONReader(bytes)
        var seen: Set<Field> = []
        try reader.beginObject()
        while let key = try reader.nextKey() {
            let position = key.range.lowerBound
            let name = try reader.value(of: key, maximumBytes: LogLevelRoute.Limits.textBytes)
            guard let field = Field(rawValue: name) else { throw JSONFault(.unknownField, field: name, at: position) }
            guard seen.insert(field).inserted else { throw JSONFault(.duplicateField, field: name, at: position) }
            do throws(JSONFault) { try read(field, from: &reader) } catch { throw error.inField(name) }
        }
        try reader.endDocument()
        guard level != nil || requests != nil else {
            throw JSONFault(.missingField, field: Field.level.rawValue, at: reader.position)
        }
    }

    private mutating func read(_ field: Field, from reader: inout JSONReader) throws(JSONFault) {
        switch field {
        case .level: level = try reader.setting("one of \(Logger.Level.accepted)")
        case .requests: requests = try reader.setting("one of \(RequestLogging.accepted)")
        case .span:
            let start = reader.position
            let range = LogLevelRoute.Limits.span
            let bounds = "from \(range.lowerBound.configurationText) to \(range.upperBound.configurationText)"
            let accepted = "\(Duration.accepted), \(bounds)"
            let span: Duration = try reader.setting(accepted)
            guard range.contains(span) else { throw JSONFault(.notAccepted(accepted), at: start) }
            self.span = span
        }
    }
}

extension JSONReader {
    fileprivate mutating func setting<Value: ConfigurationValue>(_ accepted: String) throws(JSONFault) -> Value {
        let start = position
        let text = try value(of: try string(), maximumBytes: LogLevelRoute.Limits.textBytes)
        do throws(ConfigurationValueFault) {
            return try Value(configuration: text)
        } catch {
            throw JSONFault(.notAccepted(accepted), at: start)
        }
    }
}
