// SPDX-License-Identifier: Apache-2.0

package import Clients
package import Logging
package import Receipts
internal import Synchronization

package struct LogConfiguration: Hashable, Sendable {
    /// In force until an operator changes them at run time.
    package var values = LogSettings.Values()
    package var sampling = RequestSampling()

    package init() {}
}

package enum RequestLogging: String, CaseIterable, Hashable, Sendable, ConfigurationValue {
    case none
    /// Failed and slow requests, and a share of the ordinary requests.
    case sampled
    case all
}

package struct RequestSampling: Hashable, Sendable {
    package var oneIn: Int
    package var slow: Duration
    package var notablePerSecond: Int

    package init(oneIn: Int = 100, slow: Duration = .seconds(1), notablePerSecond: Int = 10) {
        (self.oneIn, self.slow, self.notablePerSecond) = (oneIn, slow, notablePerSecond)
    }
}

extension Logger.Level: ConfigurationValue {
    package init(configuration text: String) throws(ConfigurationValueFault) {
        guard let level = Logger.Level(rawValue: text) else {
            throw ConfigurationValueFault(description: "\"\(text)\" is not a log level")
        }
        self = level
    }
}

/// The log settings: as configured, until an operator changes them at run time.
package final class LogSettings: Sendable {
    package struct Values: Hashable, Sendable {
        package var level = Logger.Level.info
        package var requests = RequestLogging.all
    }

    package struct Current: Hashable, Sendable {
        package let values: Values
        /// The time at which the configured values return; nil for none.
        package let fallsBackAt: Timestamp?
    }

    private struct State {
        let configured: Values
        var current: Current
        /// The number of changes, so that the timer of an earlier change does not end a later change.
        var change = 0
        var timer: Task<Void, Never>?
    }

    private let state: Mutex<State>
    // Read for each log line.
    private let level: Atomic<Int>
    private let logging: Atomic<Int>

    private static let levels = Logger.Level.allCases
    private static let loggings = RequestLogging.allCases

    package init(_ configured: Values = Values()) {
        state = Mutex(State(configured: configured, current: Current(values: configured, fallsBackAt: nil)))
        level = Atomic(Self.index(of: configured.level))
        logging = Atomic(Self.index(of: configured.requests))
    }

    var minimumLevel: Logger.Level { Self.levels[level.load(ordering: .relaxed)] }
    package var requests: RequestLogging { Self.loggings[logging.load(ordering: .relaxed)] }
    package var current: Current { state.withLock { $0.current } }

    /// - Parameter span: the time after which the configured values return; nil for never.
    package func change(
        to values: Values, for span: Duration?, at now: Timestamp,
        onFallBack: @escaping @Sendable (Current) -> Void
    ) {
        state.withLock { state in
            state.timer?.cancel()
            state.change += 1
            state.current = Current(values: values, fallsBackAt: span.map { now.advanced(by: $0) })
            publish(values)
            let change = state.change
            state.timer = span.map { span in
                Task {
                    guard (try? await Task.sleep(for: span)) != nil else { return }
                    if let restored = fallBack(after: change) { onFallBack(restored) }
                }
            }
        }
    }

    /// - Returns: the restored settings; nil if there was another change meanwhile.
    private func fallBack(after change: Int) -> Current? {
        state.withLock { state in
            guard state.change == change else { return nil }
            state.current = Current(values: state.configured, fallsBackAt: nil)
            publish(state.configured)
            return state.current
        }
    }

    private func publish(_ values: Values) {
        level.store(Self.index(of: values.level), ordering: .relaxed)
        logging.store(Self.index(of: values.requests), ordering: .relaxed)
    }

    private static func index(of level: Logger.Level) -> Int { levels.firstIndex(of: level) ?? 0 }
    private static func index(of logging: RequestLogging) -> Int { loggings.firstIndex(of: logging) ?? 0 }
}
