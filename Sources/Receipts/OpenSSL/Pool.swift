// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A pool of reusable objects, each lent to one borrower at a time.
///
/// It never holds more than were lent at once, which is the number of threads that verify.
final class Pool<Element: Sendable>: Sendable {
    private let idle = Mutex<[Element]>([])

    /// Lends an idle object, or a new one if all are lent.
    @inline(__always)
    func lend<Value>(orMake make: @autoclosure () -> Element, _ body: (Element) -> Value) -> Value {
        let element = idle.withLock { $0.popLast() } ?? make()
        defer { idle.withLock { $0.append(element) } }
        return body(element)
    }
}
