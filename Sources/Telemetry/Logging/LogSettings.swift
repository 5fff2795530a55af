// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Logging
package import Receipts
package import Settings
internal import Synchronization

/// What is logged: as configured, until somebody wants to see more or less of a gateway that runs.
package final class LogSettings: Sendable {
    /// What can be changed.
    package struct Values: Hashable, Sendable {
        /// The least severe level that is written.
        package var level = Logger.Level.info
        /// Which requests get a line.
        package var requests = RequestLogging.all
    }

    /// What is in force.
    package struct Current: Hashable, Sendable {
        package let values: Values
        /// When the configured values come back; nil if that was not asked for.
        package let fallsBackAt: Timestamp?

        /// Creates what is in force.
        package init(values: Values, fallsBackAt: Timestamp?) {
            self.values = values
            self.fallsBackAt = fallsBackAt
        }
    }

    private struct State {
        let configured: Values
        var current: Current
        /// Counts the changes, so that one that ended early does not end the next.
        var change = 0
        var timer: Task<Void, Never>?
    }

    private let state: Mutex<State>
    // Read for each line that may be written.
    private let level: Atomic<Int>
    private let logging: Atomic<Int>

    private static let levels = Logger.Level.allCases
    private static let loggings = RequestLogging.allCases

    /// What is configured.
    package init(_ configured: Values = Values()) {
        state = Mutex(State(configured: configured, current: Current(values: configured, fallsBackAt: nil)))
        level = Atomic(Self.index(of: configured.level))
        logging = Atomic(Self.index(of: configured.requests))
    }

    /// The least severe level that is written.
    var minimumLevel: Logger.Level { Self.levels[level.load(ordering: .relaxed)] }
    /// Which requests get a line.
    package var requests: RequestLogging { Self.loggings[logging.load(ordering: .relaxed)] }
    /// What is in force.
    package var current: Current { state.withLock { $0.current } }

    /// Changes what is in force.
    /// - Parameters:
    ///   - span: after which the configured values come back; nil if they need not.
    ///   - onFallBack: told when they did.
    package func change(
        to values: Values, for span: Duration?, at now: Timestamp,
        onFallBack: @escaping @Sendable (Values) -> Void
    ) {
        state.withLock { state in
            state.timer?.cancel()
            state.change += 1
            state.current = Current(values: values, fallsBackAt: span.map { now.advanced(by: $0) })
            publish(values)
            let change = state.change
            state.timer = span.map { span in
                Task {
                    guard (try? await Task.sleep(for: span)) != nil, let values = fallBack(after: change) else {
                        return
                    }
                    onFallBack(values)
                }
            }
        }
    }

    /// - Returns: what is in force again; nil if there was another change meanwhile.
    private func fallBack(after change: Int) -> Values? {
        state.withLock { state in
            guard state.change == change else { return nil }
            state.current = Current(values: state.configured, fallsBackAt: nil)
            publish(state.configured)
            return state.configured
        }
    }

    private func publish(_ values: Values) {
        level.store(Self.index(of: values.level), ordering: .relaxed)
        logging.store(Self.index(of: values.requests), ordering: .relaxed)
    }

    private static func index(of level: Logger.Level) -> Int { levels.firstIndex(of: level) ?? 0 }
    private static func index(of logging: RequestLogging) -> Int { loggings.firstIndex(of: logging) ?? 0 }
}

extension LogSettings {
    /// What a configuration says.
    package convenience init(_ configuration: LogConfiguration) {
        self.init(Values(level: configuration.level, requests: configuration.requests))
    }
}
