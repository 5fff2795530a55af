// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The values that code under test hands on, in order.
public final class RecordedValues<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])

    /// Creates an empty record.
    public init() {}

    /// All values so far.
    public var all: [Element] { elements.withLock(\.self) }

    /// Adds a value.
    @Sendable public func add(_ element: Element) { elements.withLock { $0.append(element) } }
}
