// SPDX-License-Identifier: Apache-2.0

import Gateway
import ReceiptForge
import Receipts
import Resilience
import Testing

@testable import Customers

struct NotificationRecoveryTests {
    private typealias Samples = RecoverySamples

    // MARK: - Reading

    @Test func `both environments are read, first what no server acknowledged`() async {
        let bench = RecoveryBench()
        #expect(
            await bench.queries(of: bench.node()) == [
                "production -87000..0 failures", "production -87000..0 all",
                "sandbox -87000..0 failures", "sandbox -87000..0 all",
            ])
        #expect(bench.recovered(.production) == 0 && bench.recovered(.sandbox) == 0)
        #expect(bench.events.recoveries == [true, true])
    }

    @Test func `missed notifications are stored, each once`() async {
        let bench = RecoveryBench(), node = bench.node()
        bench.apple.add(1, at: -7000, isFailure: true)
        bench.apple.add(2, at: -100)
        bench.apple.add(3, at: -100, in: .sandbox)
        _ = await bench.queries(of: node)
        #expect(bench.stored == 3)
        bench.clock.advance(by: 3600)
        bench.apple.add(4, at: 1000)
        _ = await bench.queries(of: node)
        #expect(bench.stored == 4)
    }

    @Test func `all pages are read`() async {
        let bench = RecoveryBench()
        for number in 1...45 { bench.apple.add(number, at: -100, isFailure: number <= 25) }
        #expect(
            await bench.queries(of: bench.node()).prefix(5) == [
                "production -87000..0 failures", "production -87000..0 failures from 20", "production -87000..0 all",
                "production -87000..0 all from 20", "production -87000..0 all from 40",
            ])
        #expect(bench.stored == 45)
    }

    @Test func `the next recovery begins shortly before the end of the last one`() async {
        let bench = RecoveryBench(), node = bench.node()
        _ = await bench.queries(of: node)
        bench.clock.advance(by: 3599)
        #expect(await bench.queries(of: node).isEmpty)
        bench.clock.advance(by: 1)
        #expect(await bench.queries(of: node).first == "production -600..3600 failures")
        #expect(bench.recovered() == 3600)
    }

    @Test func `after a long outage, progress is recorded day by day`() async {
        let bench = RecoveryBench()
        bench.store.record(recovered: Samples.time(-3 * 86_400), Samples.app, .production)
        bench.apple.fail(.upstreamTimeout, atQuery: 3)
        let node = bench.node()
        await node.runDue()
        #expect(bench.recovered() == -259_800 + 87_000)
        let rest = await bench.queries(of: node).filter { $0.hasPrefix("production") && $0.hasSuffix("all") }
        #expect(rest == ["production -173400..-86400 all", "production -87000..0 all"])
        #expect(bench.recovered() == 0)
    }

    @Test func `an app without a key is not read`() async {
        let bench = RecoveryBench()
        bench.apple.removeKey(ofApp: "com.example.keyless")
        let queries = await bench.queries(of: bench.node(["com.example.keyless", Samples.app]))
        #expect(queries.count == 4)
    }

    /// The command that waits for a test notification knows its identity only.
    @Test func `a test notification is stored in the partition of its identity, if it was posted`() async throws {
        let bench = RecoveryBench()
        let identity = NotificationIdentity(.production, uuid: "0F2B7A52-8C14-4B8E-8A5E-000000000001")
        let partition = AppPartition(bundleID: Samples.app, of: identity)
        func hasArrived() -> Bool { bench.store.hasSeen(identity, in: partition) }
        bench.apple.add(1, at: -10, isFailure: true) { $0.notificationType = "TEST" }
        _ = await bench.queries(of: bench.node())
        #expect(!hasArrived() && bench.stored == 0 && bench.recovered() == 0)
        let payload = Samples.notification(1, at: -10) { $0.notificationType = "TEST" }
        let body = NotificationBody.json(signedPayload: payload)
        let intake = Samples.intake(bench.store)
        _ = try await intake.store(try intake.verify(body: body, at: Samples.now))
        #expect(hasArrived() && bench.store.survey(partition)?.entries == 1)
    }

    // MARK: - Faults

    @Test func `what is not genuine, or of another app, withholds nothing`() async {
        let bench = RecoveryBench()
        bench.apple.add(Array("a.b.c".utf8), at: -300)
        bench.apple.add(1, at: -200) { $0.data?.bundleID = "com.example.other" }
        bench.apple.add(2, at: -100)
        _ = await bench.queries(of: bench.node())
        #expect(bench.stored == 1 && bench.recovered() == 0)
    }

    @Test func `a full store stops the run, which is continued at the same page`() async {
        let size = NotificationBody.json(signedPayload: Samples.notification(1, at: 0)).count
        let bench = RecoveryBench(storeBytes: size * 30), node = bench.node()
        for number in 1...50 { bench.apple.add(number, at: -100) }
        let queries = await bench.queries(of: node).filter { $0.hasPrefix("production") }
        #expect(queries.last == "production -87000..0 all from 20" && bench.recovered() == nil)
        #expect(bench.events.recoveries == [false, true])
        bench.empty()
        bench.clock.advance(by: 60)
        #expect(
            await bench.queries(of: node).prefix(2) == [
                "production -87000..0 all from 20", "production -87000..0 all from 40",
            ])
        #expect(bench.recovered() == 0 && bench.stored == 50 - 30)
    }

    @Test func `after a failure, the run is continued at the same page`() async {
        let bench = RecoveryBench(), node = bench.node()
        for number in 1...30 { bench.apple.add(number, at: -100) }
        bench.apple.fail(.upstreamServerError, in: .sandbox)
        bench.apple.fail(.upstreamTimeout, atQuery: 3)
        await node.runDue()
        #expect(bench.events.recoveries == [false, false] && bench.recovered() == nil)
        bench.clock.advance(by: 60)
        #expect(await bench.queries(of: node).first == "production -87000..0 all from 20")
        #expect(bench.stored == 30)
    }

    @Test func `a position that Apple rejects is given up`() async {
        let bench = RecoveryBench(), node = bench.node()
        for number in 1...30 { bench.apple.add(number, at: -100) }
        bench.apple.fail(.upstreamRequestRefused, atQuery: 3)
        await node.runDue()
        bench.clock.advance(by: 60)
        #expect(await bench.queries(of: node).first == "production -86940..60 failures")
    }

    @Test func `an environment that does not know the app is no failure, and is tried once in each interval`() async {
        let bench = RecoveryBench(), node = bench.node()
        bench.apple.fail(.serverAPIKeyRejected, in: .sandbox)
        #expect(await bench.queries(of: node).filter { $0.hasPrefix("sandbox") }.count == 1)
        bench.clock.advance(by: 3599)
        #expect(await bench.queries(of: node).isEmpty)
        bench.clock.advance(by: 1)
        #expect(await bench.queries(of: node).filter { $0.hasPrefix("sandbox") }.count == 1)
        #expect(bench.events.recoveries == [true, true])
    }

    @Test func `a key that both environments reject is a failure`() async {
        let bench = RecoveryBench()
        for environment in [Environment.production, .sandbox] {
            bench.apple.fail(.serverAPIKeyRejected, in: environment)
        }
        _ = await bench.queries(of: bench.node())
        #expect(bench.events.recoveries == [false])
    }

    // MARK: - Limits

    @Test func `a run has a limit of pages, and the next one continues`() async {
        let bench = RecoveryBench(), node = bench.node()
        bench.apple.addEmptyPages(NotificationRecovery.Limits.pages)
        bench.apple.add(1, at: -100)
        await node.runDue()
        let first = bench.apple.queries.filter { $0.hasPrefix("production") }
        #expect(first.count == NotificationRecovery.Limits.pages && bench.recovered() == nil)
        bench.apple.clear()
        await node.runDue()
        #expect(
            bench.apple.queries.filter { $0.hasPrefix("production") } == [
                "production -87000..0 all from -20", "production -87000..0 all from 0",
            ])
        #expect(bench.stored == 1 && bench.recovered() == 0)
    }

    // MARK: - Fleet

    @Test func `while another node has the lease, nothing is read`() async {
        let bench = RecoveryBench(), node = bench.node()
        #expect(bench.store.begin(Samples.app, .production, lease: .seconds(60)))
        #expect(await bench.queries(of: node).allSatisfy { $0.hasPrefix("sandbox") })
        bench.store.end(Samples.app, .production)
        bench.clock.advance(by: 30)
        #expect(await bench.queries(of: node).count == 2)
    }

    @Test func `of the nodes of a fleet one reads in each interval, and each new fleet at its start`() async {
        let bench = RecoveryBench(), one = bench.node(), other = bench.node()
        bench.clock.advance(by: 5)
        #expect(await bench.queries(of: one).count == 4)
        #expect(await bench.queries(of: other).isEmpty)
        bench.clock.advance(by: 3600)
        #expect(await bench.queries(of: other).count == 4)
        #expect(await bench.queries(of: one).isEmpty)
        bench.clock.advance(by: 60)
        #expect(await bench.queries(of: bench.node()).first == "production 3005..3665 failures")
    }

    @Test func `a store that does not say how far the history was read loses nothing of it`() async {
        let bench = RecoveryBench(), progress = InterruptedProgress(bench.store)
        _ = await bench.queries(of: bench.node())
        bench.clock.advance(by: 5 * 86_400)
        let node = bench.node(progress: progress)
        progress.interrupt()
        _ = await bench.queries(of: node)
        #expect(bench.recovered(.production) == 0)
        bench.clock.advance(by: 30)
        #expect(await bench.queries(of: node).first == "production -600..86400 failures")
    }

    @Test func `a progress in the future does not stop recovery`() async {
        let bench = RecoveryBench()
        bench.store.record(recovered: Samples.time(86_400), Samples.app, .production)
        #expect(await bench.queries(of: bench.node()).first == "production -87000..0 failures")
        #expect(bench.recovered() == 0)
    }

    // MARK: - Loss

    @Test func `what the store lost is read again at once`() async {
        let bench = RecoveryBench(), node = bench.node()
        _ = await bench.queries(of: node)
        bench.clock.advance(by: 10)
        node.recoverNow(Samples.app, since: .seconds(7210))
        #expect(
            await bench.queries(of: node) == [
                "production -7800..10 failures", "production -7800..10 all", "sandbox -7800..10 failures",
                "sandbox -7800..10 all",
            ])
        #expect(bench.recovered() == 10)
        #expect(await bench.queries(of: node).isEmpty)
    }

    @Test func `a run that a fault interrupted is given up for an older loss`() async {
        let bench = RecoveryBench(), node = bench.node()
        for number in 1...30 { bench.apple.add(number, at: -100) }
        bench.apple.fail(.upstreamTimeout, atQuery: 3)
        await node.runDue()
        node.recoverNow(Samples.app, since: .seconds(90_000))
        #expect(await bench.queries(of: node).first == "production -90600..-3600 failures")
        #expect(bench.recovered() == 0)
    }

    @Test func `a loss does not shorten what was to be read`() async {
        let bench = RecoveryBench(), node = bench.node()
        bench.store.record(recovered: Samples.time(-10_000), Samples.app, .production)
        node.recoverNow(Samples.app, since: .seconds(100))
        #expect(
            await bench.queries(of: node).map { String($0) }.filter { $0.hasSuffix("all") } == [
                "production -10600..0 all", "sandbox -87000..0 all",
            ])
    }

    @Test func `if the node that reads a loss ends, another one reads on`() async {
        let bench = RecoveryBench(), node = bench.node(), other = bench.node()
        _ = await bench.queries(of: node)
        bench.clock.advance(by: 3500)
        bench.apple.fail(.upstreamTimeout, in: .production)
        node.recoverNow(Samples.app, since: .seconds(7000))
        await node.runDue()
        #expect(bench.recovered() == -3500)
        bench.apple.fail(nil, in: .production)
        bench.clock.advance(by: 100)
        #expect(await bench.queries(of: other).first == "production -4100..3600 failures")
    }
}
