// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator
internal import Foundation
internal import ReceiptForge

/// The requests that all workers of a run choose from.
enum TrafficSource: Sendable {
    case receipts(ReceiptPools, RequestMix, KeyPopularity)
    case same(SameRequest)
    /// Signed transactions: known ones, and a number of new ones in each request.
    case signed(TransactionPKI, known: [String], new: Int)

    /// Returns the requests of one worker, where earlier runs have sent `requestsBefore`, so that fresh receipts are
    /// not theirs.
    func traffic(worker: Int, _ plan: LoadPlan, requestsBefore: Int = 0) -> any LoadTraffic {
        switch self {
        case .same(let request): return request
        case .signed(let pki, let known, let count):
            return SignedTraffic(
                pki, known: known, new: count, target: plan.target,
                purpose: "new transactions of worker \(worker) after \(requestsBefore) requests")
        case .receipts(let pools, let mix, let popularity):
            let freshBefore = Int(Double(requestsBefore) * mix[.fresh] * 1.05)
            return ReceiptTraffic(
                pools, mix, popularity, worker: worker, of: plan.workers, seed: plan.seed, freshBefore: freshBefore)
        }
    }
}

extension TrafficOptions {
    /// Makes the requests of a run of about so many requests, if that is known, and seconds; shows progress.
    func source(requests: Double?, seconds: Double) async throws -> TrafficSource {
        let target = try target()
        if !sendsReceipts {
            let content = try body.map { path in
                guard let data = FileManager.default.contents(atPath: path) else {
                    throw FileError.notReadable(path: path)
                }
                return Array(data)
            }
            return .same(
                SameRequest(request: RequestForm.request(method ?? "POST", target, fields, body: content)))
        }
        func form(_ content: RequestForm.Content) -> RequestForm {
            RequestForm(target: target, mode: mode, maximumAge: maxAge, fields: fields, content: content)
        }
        var pools = try await pools(form(.receipt), requests: requests, seconds: seconds)
        if mix.sendsCustomers {
            let customers = SimulatedCustomers(customers, at: .now)
            var customerPools = CustomerPools(customers, try TransactionPKI(corpus: corpus), zipf: zipf, form)
            if mix.sendsCustomerReceipts {
                customerPools.addReceipts(of: customers, try ForgedPKI(corpus: corpus), form)
            }
            pools.customers = customerPools
        }
        return .receipts(pools, mix, KeyPopularity(keys: pools.repeated.count, exponent: zipf))
    }

    private func pools(_ form: RequestForm, requests: Double?, seconds: Double) async throws -> ReceiptPools {
        let factory = ReceiptFactory(try ForgedPKI(corpus: corpus), seed: seed, form: form, bodyBytes: receiptBytes)
        let freshCount = freshCount(of: requests), expiringCount = mix[.nearExpiry] > 0 ? Self.expiring : 0
        let made = corpus == nil && mix.sendsRepeated ? keys : 0
        let progress = ProgressLine(unit: "receipts", total: made + freshCount + expiringCount)
        defer { progress.finish() }
        var pools = ReceiptPools(repeated: [])
        if let corpus {
            pools.repeated = try CorpusFolder(path: corpus).genuineReceipts(keys).map { PooledRequest($0, form) }
        }
        if made > 0 { pools.repeated = await factory.repeated(made) { progress.update(done: $0) } }
        pools.fresh = await factory.fresh(freshCount) { progress.update(done: made + $0) }
        pools.nearExpiry = await factory.nearExpiry(expiringCount, after: Date(), seconds: max(60, seconds)) {
            progress.update(done: made + freshCount + $0)
        }
        return pools
    }

    /// Returns the expected number of fresh receipts, and some more for chance.
    private func freshCount(of requests: Double?) -> Int {
        guard mix[.fresh] > 0 else { return 0 }
        let expected = (requests ?? .infinity) * mix[.fresh] * 1.05 + 100
        if expected > Double(freshReceipts) {
            StandardError.write(
                "Of the fresh receipts only \(freshReceipts.grouped) are made; they will be sent again. "
                    + "See --fresh-receipts.\n")
        }
        return Int(min(expected, Double(freshReceipts)))
    }

    private static let expiring = 200

    /// Writes the certificate that a gateway must trust, if an option says so.
    func writeRoot() throws {
        if let root { try FileError.write(try ForgedPKI(corpus: corpus).rootPEM, to: root) }
    }
}
