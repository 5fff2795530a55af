// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
internal import Receipts
internal import Synchronization

extension HTTPField.Name {
    /// `Preference-Applied` (RFC 7240 §3).
    package static let preferenceApplied = known("Preference-Applied")

    /// `X-Accel-Buffering: no` keeps nginx from collecting a stream.
    package static let accelBuffering = known("X-Accel-Buffering")

    package static let referrerPolicy = known("Referrer-Policy")

    package static func known(_ name: String) -> HTTPField.Name {
        guard let fieldName = HTTPField.Name(name) else { preconditionFailure("\(name) is no field name") }
        return fieldName
    }
}

// MARK: - Values

extension Duration {
    /// The whole seconds, rounded up so that a client that waits so long does not return too early.
    package var secondsRoundedUp: Int {
        let (seconds, attoseconds) = components
        return Int(seconds) + (attoseconds > 0 ? 1 : 0)
    }
}

/// The header field `Date` (RFC 9110 §6.6.1), written once a second.
final class DateField: Sendable {
    private let latest = Mutex<(second: Int64, line: [UInt8])?>(nil)

    /// Returns the line of the field at this time.
    func line(at now: Timestamp) -> [UInt8] {
        let second = now.millisecondsSince1970 / 1000
        return latest.withLock { latest in
            if let latest, latest.second == second { return latest.line }
            var line: [UInt8] = []
            line.append(line: HTTPField(name: .date, value: HTTPDate.text(now)))
            latest = (second, line)
            return line
        }
    }
}
