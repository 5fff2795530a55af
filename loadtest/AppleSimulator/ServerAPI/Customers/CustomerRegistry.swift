// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Receipts
internal import Synchronization

/// The customers that evidence named, and populations of customers.
final class CustomerRegistry: Sendable {
    /// A customer, and the place where it is kept: nil for one of a population beyond the limit of accounts, which cannot
    /// be changed.
    struct Found: Sendable {
        var customer: Customer
        let place: Int?
    }

    private struct Kept: Sendable {
        var customer: Customer
        var log = TransactionLog()
    }

    private struct State: Sendable {
        var kept: [Kept] = []
        /// Places by the IDs in evidence, and by app transaction ID.
        var places: [AppInStore: [String: Int]] = [:]
        /// Places by the IDs of the transactions in accounts, including transactions that stories add. Evidence does
        /// not find its customer by these IDs: a story's ID may name another customer's purchase.
        var told: [AppInStore: [String: Int]] = [:]
        var populations: [Population] = []
        var massExtensions: [MassExtension] = []
        /// The number of changes to customers that were known before.
        var changes = 0
    }

    private let state = Mutex(State())
    private let limits: SimulatorLimits

    init(limits: SimulatorLimits) {
        self.limits = limits
    }

    /// The number of changes to customers that were known before: while it stays, their accounts do not change.
    var changes: Int { state.withLock { $0.changes } }

    /// The number of customers that are kept.
    var count: Int { state.withLock { $0.kept.count } }
}

extension CustomerRegistry {
    /// Returns the customer with a transaction ID, an original transaction ID or an app transaction ID.
    func customer(withID id: String, of app: AppInStore, _ call: CallContext) -> Found? {
        let kept = state.withLock { state in
            (state.places[app]?[id] ?? state.told[app]?[id]).map { Found(customer: state.kept[$0].customer, place: $0) }
        }
        if let kept { return kept }
        guard let number = Int64(id) else { return nil }
        let (populations, rules) = state.withLock { ($0.populations, $0.massExtensions) }
        for population in populations where population.app == app {
            guard let index = population.customer(withID: number) else { continue }
            var customer = population.customer(number: index)
            for rule in rules where rule.app == app { customer.extend(rule, call) }
            return register([customer.appTransactionID], customer) ?? Found(customer: customer, place: nil)
        }
        return nil
    }

    /// Changes a customer. Returns false if it is not kept.
    func change(_ found: Found, _ body: (inout CustomerChanges) -> Void) -> Bool {
        guard let place = found.place else { return false }
        state.withLock { state in
            body(&state.kept[place].customer.changes)
            state.changes += 1
        }
        return true
    }

    /// Changes a customer, and returns it with the result; nothing changes if `body` throws.
    func update<Result>(
        _ found: Found, _ body: (inout Customer) throws(ControlError) -> Result
    ) throws(ControlError) -> (found: Found, result: Result) {
        guard let place = found.place else { throw .tooManyAccounts }
        return try state.withLock { state throws(ControlError) in
            var customer = state.kept[place].customer
            let result = try body(&customer)
            state.kept[place].customer = customer
            state.changes += 1
            return (Found(customer: customer, place: place), result)
        }
    }

    /// Returns the original transaction IDs of an app's populations, from the customer of a number on. The IDs of a
    /// population follow the IDs of the population before.
    func originalTransactionIDs(of app: AppInStore, from first: Int64, count: Int64) -> [String] {
        var (skipped, ids) = (first, [String]())
        for population in state.withLock({ $0.populations }) where population.app == app {
            let numbers = min(skipped, population.count)..<population.count
            skipped -= numbers.lowerBound
            ids += numbers.prefix(Int(count) - ids.count).map(population.originalTransactionID)
        }
        return ids
    }

    /// Notes the claims of all transactions of a customer, oldest first, and returns the order of their changes. Each
    /// transaction can be found by its ID from then on.
    func log(_ found: Found, _ transactions: [(id: String, claims: Fingerprint)]) -> TransactionLog {
        guard let place = found.place else {
            var log = TransactionLog()
            log.note(transactions)
            return log
        }
        return state.withLock { state in
            state.kept[place].log.note(transactions)
            Self.name(transactions.map(\.id), place, in: &state.told[found.customer.app, default: [:]])
            return state.kept[place].log
        }
    }

    /// Adds IDs of a kept customer; IDs that name another customer stay.
    private static func name(_ ids: [String], _ place: Int, in places: inout [String: Int]) {
        for id in ids where places[id] == nil { places[id] = place }
    }
}

extension CustomerRegistry {
    /// Adds a customer, or evidence of a known customer. Returns nil for a new customer beyond the limit of accounts.
    ///
    /// - Parameters:
    ///   - ids: the names of the customer in the evidence.
    ///   - new: the customer, unless it is known.
    ///   - add: changes a known customer.
    func register(_ ids: [String], _ new: Customer, add: (inout Customer) -> Void = { _ in }) -> Found? {
        state.withLock { state in
            let known = ids.compactMap { state.places[new.app]?[$0] }.first
            if let known {
                let before = state.kept[known].customer
                add(&state.kept[known].customer)
                if state.kept[known].customer != before { state.changes += 1 }
            } else {
                guard state.kept.count < limits.maximumAccounts else { return nil }
                state.kept.append(Kept(customer: new))
            }
            let place = known ?? state.kept.count - 1, customer = state.kept[place].customer
            Self.name(ids + [customer.appTransactionID], place, in: &state.places[new.app, default: [:]])
            return Found(customer: customer, place: place)
        }
    }

    /// Adds a population. A population with the same customers stays as it is.
    func add(_ population: Population) throws(ControlError) {
        try state.withLock { state throws(ControlError) in
            guard !state.populations.contains(where: population.isSame) else { return }
            guard !state.populations.contains(where: population.overlaps) else { throw .overlapping }
            guard state.populations.count < limits.maximumPopulations else {
                throw .tooManyPopulations(maximum: limits.maximumPopulations)
            }
            state.populations.append(population)
        }
    }

    /// Lets a kept customer be found by the transactions of its account, including its story's transactions.
    func name(_ account: SimulatedAccount, of found: Found) {
        guard let place = found.place else { return }
        let ids = account.history.map(\.purchase.transactionID)
        state.withLock { Self.name(ids, place, in: &$0.told[found.customer.app, default: [:]]) }
    }
}

extension CustomerRegistry {
    /// Extends the running subscriptions of a product, of known customers at once and of populations when they are asked
    /// about. Returns the numbers of known customers whose subscription was and was not extended; nil at the limit.
    func extend(_ rule: MassExtension, _ call: CallContext) -> (succeeded: Int, failed: Int)? {
        state.withLock { state in
            guard state.massExtensions.count < limits.maximumMassExtensions else { return nil }
            state.massExtensions.append(rule)
            state.changes += 1
            var (succeeded, failed) = (0, 0)
            for place in state.kept.indices where state.kept[place].customer.app == rule.app {
                switch state.kept[place].customer.extend(rule, call) {
                case true?: succeeded += 1
                case false?: failed += 1
                case nil: break
                }
            }
            return (succeeded, failed)
        }
    }
}
