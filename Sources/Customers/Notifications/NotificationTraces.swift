// SPDX-License-Identifier: Apache-2.0

internal import Receipts
internal import Synchronization

/// The traces of the notifications that this process stored a moment ago, for the events that they cause. A notification
/// that another node applies has none: its stored form has no place for a trace.
package final class NotificationTraces: Sendable {
    enum Limits {
        static let notifications = 256
    }

    private let current: @Sendable () -> String?
    private let traces = Mutex<[Fingerprint: String]>([:])

    /// - Parameter current: returns the `traceparent` of the request that the current task answers; nil without spans.
    package init(current: @escaping @Sendable () -> String? = { nil }) { self.current = current }

    func remember(_ record: NotificationRecord) {
        guard let trace = current() else { return }
        let name = Fingerprint(of: record.bytes.span)
        traces.withLock { traces in
            if traces.count >= Limits.notifications { traces.removeAll() }
            traces[name] = trace
        }
    }

    func take(_ record: NotificationRecord) -> String? {
        guard traces.withLock({ !$0.isEmpty }) else { return nil }
        let name = Fingerprint(of: record.bytes.span)
        return traces.withLock { $0.removeValue(forKey: name) }
    }
}
