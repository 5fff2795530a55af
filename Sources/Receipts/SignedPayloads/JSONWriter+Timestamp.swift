// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import JSON

extension JSONWriter {
    /// Writes a date and its twin in milliseconds; nothing for nil.
    package mutating func member(_ name: StaticString, _ value: Timestamp?) {
        guard let value else { return }
        key(name)
        string { value.appendRFC3339(to: &$0) }
        key(name, suffix: "_ms")
        integer(value.millisecondsSince1970)
    }
}
