// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// A place in the changes of a customer's transactions: a page continues from it, and later the changes since then.
///
/// Its text is `NUMBER_CHECK` in the ascending order; in the descending one it is `NUMBER-TOP-FLOOR_CHECK` while pages
/// are left. The check names the customer: a revision of another customer is invalid.
struct Revision: Hashable, Sendable {
    /// The number of the change after which to continue; before which, in the descending order.
    var number: Int64 = 0
    /// The number of the last change when a descending list began; nil in the ascending order, and at its end.
    var top: Int64?
    /// The number of the change at which a descending list ends.
    var floor: Int64 = 0

    init(number: Int64 = 0) {
        self.number = number
    }

    /// Reads a revision of this customer.
    init(_ text: String, of customer: Customer) throws(APIError) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1] == Self.check(of: customer) else { throw .invalidRevision }
        let numbers = parts[0].split(separator: "-", omittingEmptySubsequences: false).map { Int64($0) }
        guard [1, 3].contains(numbers.count), !numbers.contains(nil), let number = numbers[0] else {
            throw .invalidRevision
        }
        self.init(number: number)
        guard numbers.count == 3 else { return }
        (top, floor) = (numbers[1], numbers[2] ?? 0)
    }

    func text(of customer: Customer) -> String {
        "\(number)" + (top.map { "-\($0)-\(floor)" } ?? "") + "_" + Self.check(of: customer)
    }

    private static func check(of customer: Customer) -> String {
        let name = "\(customer.app.bundleID) \(customer.app.endpoint.rawValue) \(customer.appTransactionID)"
        var generator = SplitMix64(seed: 0, purpose: name)
        return String(generator.next(), radix: 36)
    }
}

/// A page of a list that is ordered by the numbers of changes.
struct RevisionPage<Element> {
    let elements: [Element]
    let revision: Revision
    let hasMore: Bool

    /// The most transactions of a page.
    static var maximumCount: Int { 20 }

    /// - Parameters:
    ///   - list: the elements with the numbers of their changes, in any order.
    ///   - last: the number of the customer's last change.
    init(
        _ list: [(element: Element, number: Int64)], after revision: Revision, last: Int64, isDescending: Bool
    ) {
        let rest = list.filter { isDescending ? revision.precedes($0.number) : $0.number > revision.number }
            .sorted { isDescending ? $0.number > $1.number : $0.number < $1.number }
        let page = rest.prefix(Self.maximumCount)
        hasMore = rest.count > page.count
        elements = page.map(\.element)
        guard hasMore, let end = page.last?.number else {
            self.revision = Revision(number: revision.top ?? last)
            return
        }
        var next = Revision(number: end)
        if isDescending {
            next.top = revision.top ?? last
            next.floor = revision.top == nil ? revision.number : revision.floor
        }
        self.revision = next
    }
}

extension Revision {
    /// Returns true for a change that is still to come in the descending order: an earlier change down to the floor
    /// while pages are left, and a later change after that.
    fileprivate func precedes(_ change: Int64) -> Bool {
        top == nil ? change > number : change < number && change > floor
    }
}
