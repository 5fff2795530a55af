// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator
internal import Foundation
internal import NIOCore
internal import ReceiptForge

/// The requests that all workers of a run choose from.
enum TrafficSource: Sendable {
    case receipts(ReceiptPools, RequestMix, KeyPopularity)
    /// Whole requests, one after the other.
    case inTurn([ByteBuffer])
    /// Signed transactions: known transactions, and a number of new transactions in each request.
    case signed(TransactionPKI, known: [String], new: Int)

    /// Returns requests of one kind; all repeated receipts are equally popular.
    static func only(_ kind: RequestKind, _ pools: ReceiptPools) -> TrafficSource {
        .receipts(pools, .only(kind), KeyPopularity(keys: pools.repeated.count, exponent: 0))
    }

    /// Returns the requests of one worker, where earlier runs have sent `requestsBefore`, so that fresh receipts are
    /// not theirs.
    func traffic(worker: Int, _ plan: LoadPlan, requestsBefore: Int = 0) -> any LoadTraffic {
        switch self {
        case .inTurn(let requests): return InTurn(requests, worker: worker, of: plan.workers)
        case .signed(let pki, let known, let count):
            let purpose = "new transactions of worker \(worker) after \(requestsBefore) requests"
            return SignedTraffic(
                pki: pki, target: plan.target, known: known, newTransactions: count,
                generator: SplitMix64(seed: 1, purpose: purpose))
        case .receipts(let pools, let mix, let popularity):
            func before(_ kind: RequestKind) -> Int { Int(Double(requestsBefore) * mix[kind] * 1.05) }
            return ReceiptTraffic(
                pools, mix, popularity, worker: worker, of: plan.workers, seed: plan.seed,
                freshBefore: before(.fresh), notificationsBefore: before(.notification))
        }
    }
}

extension LoadRun {
    init(_ plan: LoadPlan, _ source: TrafficSource, requestsBefore: Int = 0) {
        self.init(plan: plan) { source.traffic(worker: $0, plan, requestsBefore: requestsBefore) }
    }
}

extension TrafficOptions {
    /// Writes the certificate that a gateway must trust, if an option says so, and reads the URLs of `--urls`. The first
    /// then names the server.
    mutating func prepare() throws -> [LoadTarget] {
        try checkAuthority()
        if let root { try FileError.write(try ForgedPKI(corpus: corpus).rootPEM, to: root) }
        guard let urls else { return [] }
        let bytes = try FileError.bytes(of: urls, atMost: URLList.maximumBytes)
        let list = try ContentError.naming(urls) { () throws(URLListFault) in try URLList(bytes) }
        url = list.targets[0].url
        return list.targets
    }

    private func wholeRequests(to targets: [LoadTarget]) throws -> [ByteBuffer] {
        let content = try body.map { try FileError.bytes(of: $0, atMost: Self.maximumBodyBytes) }
        let memory = targets.count * (content?.count ?? 0)
        try check(
            memory <= 8 << 30,
            "\(targets.count.grouped) requests with a body of \((content?.count ?? 0).bytesText) take too much memory.")
        let method = method ?? (body == nil ? "GET" : "POST")
        return targets.map { RequestForm.request(method, $0, fields, body: content) }
    }

    private static let maximumBodyBytes = 64 << 20

    /// Makes the requests of a run of about so many requests, if that is known, and seconds; shows progress.
    func source(requests: Double?, seconds: Double, listed: [LoadTarget] = []) async throws -> TrafficSource {
        let target = try target()
        if !sendsReceipts { return .inTurn(try wholeRequests(to: listed.isEmpty ? [target] : listed)) }
        func form(_ content: RequestForm.Content) -> RequestForm {
            // Apple has no API key.
            let fields = content == .notification ? header : fields
            return RequestForm(target: target, mode: mode, maximumAge: maxAge, fields: fields, content: content)
        }
        var pools = try await pools(form(.receipt), requests: requests, seconds: seconds)
        if mix.sendsCustomers { pools.customers = try customerPools(form) }
        if mix.sendsNotifications {
            pools.notifications = try await notifications(form(.notification), requests: requests)
        }
        return .receipts(pools, mix, KeyPopularity(keys: pools.repeated.count, exponent: zipf))
    }

    private func customerPools(_ form: (RequestForm.Content) -> RequestForm) throws -> CustomerPools {
        let customers = SimulatedCustomers(customers, at: .now)
        var pools = CustomerPools(customers, try TransactionPKI(corpus: corpus), zipf: zipf, form)
        if mix.sendsCustomerReceipts { pools.addReceipts(of: customers, try ForgedPKI(corpus: corpus), form) }
        return pools
    }

    private func notifications(_ form: RequestForm, requests: Double?) async throws -> [ByteBuffer] {
        let factory = NotificationFactory(
            pki: try TransactionPKI(corpus: corpus), form: form, customers: customers, bundleID: bundleID, seed: seed)
        let count = count(
            of: .notification, in: requests, atMost: notifications, "notifications", option: "--notifications")
        let progress = ProgressLine(unit: "notifications", total: count)
        return await factory.requests(count, until: .now) { progress.update(done: $0) }
    }

    private func pools(_ form: RequestForm, requests: Double?, seconds: Double) async throws -> ReceiptPools {
        guard mix.sendsReceipts else { return ReceiptPools() }
        let factory = ReceiptFactory(try ForgedPKI(corpus: corpus), seed: seed, form: form, bodyBytes: receiptBytes)
        let freshCount =
            mix[.fresh] > 0
            ? count(of: .fresh, in: requests, atMost: freshReceipts, "fresh receipts", option: "--fresh-receipts") : 0
        let expiringCount = mix[.nearExpiry] > 0 ? Self.expiring : 0
        let made = corpus == nil && mix.sendsRepeated ? keys : 0
        let progress = ProgressLine(unit: "receipts", total: made + freshCount + expiringCount)
        var pools = ReceiptPools()
        if let corpus {
            pools.repeated = try CorpusFolder(path: corpus).genuineReceipts(keys, giants: giants).map {
                PooledRequest($0, form)
            }
        }
        if made > 0 { pools.repeated = await factory.repeated(made) { progress.update(done: $0) } }
        pools.fresh = await factory.fresh(freshCount) { progress.update(done: made + $0) }
        pools.nearExpiry = await factory.nearExpiry(expiringCount, after: Date(), seconds: max(60, seconds)) {
            progress.update(done: made + freshCount + $0)
        }
        return pools
    }

    /// Returns the expected number of requests that are sent once, and some more for chance; warns if that is too many.
    private func count(
        of kind: RequestKind, in requests: Double?, atMost most: Int, _ name: String, option: String
    ) -> Int {
        // An unknown number times no share is not a number.
        let expected = (mix[kind] > 0 ? (requests ?? .infinity) * mix[kind] * 1.05 : 0) + 100
        if expected > Double(most) {
            ProgressStream.write(
                "Of the \(name) only \(most.grouped) are made; they will be sent again. See \(option).\n")
        }
        return Int(min(expected, Double(most)))
    }

    private static let expiring = 200
}
