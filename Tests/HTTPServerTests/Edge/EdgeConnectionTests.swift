// SPDX-License-Identifier: Apache-2.0

import Gateway
import NIOCore
import NIOHTTP1
import Testing

@testable import Clients
@testable import HTTPServer
@testable import ServerTestSupport

@Suite("The rules of a connection")
struct EdgeConnectionTests {
    private static let rules = EdgeRules(
        bodyLimit: .bytes(10), headersDeadline: .seconds(5), requestDeadline: .seconds(15),
        answerDeadline: .seconds(60), idleDeadline: .seconds(30), shutdownGrace: .seconds(20))

    private static let routes = RouteTable([])

    private let budget = BodyBudget(.bytes(12))
    private var connection: EdgeConnection
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    init() {
        connection = EdgeConnection(rules: Self.rules, routes: Self.routes, budget: budget, at: start)
    }

    @Test mutating func `each phase has its deadline`() {
        #expect(connection.deadline == start + .seconds(5))
        _ = connection.receive(head(), at: start + .seconds(1))
        #expect(connection.deadline == start + .seconds(16))
        _ = connection.receive(.body(ByteBuffer(string: "12345")), at: start + .seconds(9))
        #expect(connection.deadline == start + .seconds(16))
        _ = connection.receive(.end, at: start + .seconds(10))
        #expect(connection.deadline == start + .seconds(70))
        _ = connection.beginAnswer(isLast: false)
        let goesOn = connection.endAnswer(at: start + .seconds(11))
        #expect(goesOn)
        #expect(connection.deadline == start + .seconds(41))
    }

    @Test mutating func `nothing happens before the deadline`() {
        expect(connection.deadlinePassed(at: start + .milliseconds(4999)), is: "nothing")
        expect(connection.deadlinePassed(at: start + .seconds(5)), is: "headersLate")
        expect(connection.deadlinePassed(at: start + .milliseconds(5499)), is: "nothing")
        expect(connection.deadlinePassed(at: start + .milliseconds(5500)), is: "close")
        #expect(connection.deadline == nil)
    }

    @Test func `an unknown client keeps its connection for half a second after a refusal, a known one for two`() {
        var rules = Self.rules
        rules.authenticate = { $0.apiKey == "known" ? .loopback : nil }
        for (key, linger) in [("unknown", .milliseconds(500)), ("known", .seconds(2))] as [(String, TimeAmount)] {
            var connection = EdgeConnection(rules: rules, routes: Self.routes, budget: budget, at: start)
            let head = Self.head(["X-API-Key": key, "Content-Length": "11"])
            let action = connection.receive(.head(head), at: start)
            guard case .refuse = action else { Issue.record("served"); continue }
            #expect(connection.deadline == start + linger)
        }
    }

    @Test(arguments: [Set<PluginProtocol>(), [.openIAP]])
    func `a body with a key in an app, which anyone can read, takes its address's share until it is complete`(
        plugins: Set<PluginProtocol>
    ) throws {
        var rules = Self.rules
        rules.bodyLimit = .mebibytes(4)
        rules.authenticate = { _ in Client(name: "app", apps: .only([]), keys: [], plugins: plugins) }
        let budget = BodyBudget(.mebibytes(16)), share = ByteBuffer(repeating: 0x20, count: 1 << 20)
        func connect() throws -> EdgeConnection {
            var connection = EdgeConnection(rules: rules, routes: Self.routes, budget: budget, at: start)
            connection.source = try #require(NetworkAddress("192.0.2.1")).source
            _ = connection.receive(head(), at: start)
            return connection
        }
        var first = try connect(), second = try connect()
        expect(first.receive(.body(share), at: start), is: "nothing")
        expect(second.receive(.body(share), at: start), is: plugins.isEmpty ? "nothing" : "tooManyOfAddress")
        let delivered = first.receive(.end, at: start)
        expect(delivered, is: "deliver")
        var third = try connect()
        expect(third.receive(.body(share), at: start), is: "nothing")
        withExtendedLifetime(delivered) {}
    }

    @Test mutating func `a late response becomes 503, and one that does not end closes the connection`() {
        var stalled = connection
        deliver(to: &connection)
        expect(connection.deadlinePassed(at: start + .seconds(60)), is: "answerLate")
        let late = connection.beginAnswer(isLast: false)
        #expect(late == nil)
        deliver(to: &stalled)
        _ = stalled.beginAnswer(isLast: false)
        expect(stalled.deadlinePassed(at: start + .seconds(60)), is: "close")
    }

    @Test mutating func `a streamed response has time for each part, until the shutdown's grace ends`() {
        deliver(to: &connection)
        let isTooEarly = !connection.continueAnswer(at: start + .seconds(1), partDeadline: .seconds(30))
        #expect(isTooEarly && connection.deadline == start + .seconds(60), "an answer that has not begun has no parts")
        _ = connection.beginAnswer(isLast: false, hasLength: false)
        for second in [50, 75, 100] as [Int64] {
            let goesOn = connection.continueAnswer(at: start + .seconds(second), partDeadline: .seconds(30))
            #expect(goesOn && connection.deadline == start + .seconds(second + 30))
            expect(connection.deadlinePassed(at: start + .seconds(second + 29)), is: "nothing")
        }
        expect(connection.quiesce(at: start + .seconds(101)), is: "nothing")
        #expect(connection.deadline == start + .seconds(121))
        _ = connection.continueAnswer(at: start + .seconds(110), partDeadline: .seconds(30))
        expect(connection.deadlinePassed(at: start + .seconds(121)), is: "close")
        let goesOn = connection.continueAnswer(at: start + .seconds(122), partDeadline: .seconds(30))
        #expect(!goesOn)
    }

    @Test mutating func `a connection whose client reads no part of a streamed response is closed`() {
        deliver(to: &connection)
        _ = connection.beginAnswer(isLast: false, hasLength: false)
        _ = connection.continueAnswer(at: start + .seconds(2), partDeadline: .seconds(30))
        expect(connection.deadlinePassed(at: start + .seconds(32)), is: "close")
    }

    @Test mutating func `a last answer that is not read ends with the server`() {
        var other = connection
        deliver(to: &connection)
        _ = connection.quiesce(at: start)
        _ = connection.beginAnswer(isLast: true)
        _ = connection.endAnswer(at: start + .seconds(1))
        #expect(connection.deadline == start + .seconds(20))
        deliver(to: &other)
        _ = other.beginAnswer(isLast: true)
        _ = other.endAnswer(at: start + .seconds(1))
        _ = other.quiesce(at: start + .seconds(2))
        #expect(other.deadline == start + .seconds(22))
    }

    @Test mutating func `the socket is read until the connection has ended, and input waits for the answer`() {
        #expect(connection.wantsRead && connection.wantsInput)
        deliver(to: &connection)
        #expect(connection.wantsRead && !connection.wantsInput)
        _ = connection.beginAnswer(isLast: false)
        _ = connection.endAnswer(at: start)
        #expect(connection.wantsRead && connection.wantsInput)
        connection.ended()
        #expect(!connection.wantsRead)
    }

    @Test mutating func `bytes of an undelivered body are released when the connection ends`() {
        _ = connection.receive(head(), at: start)
        _ = connection.receive(.body(ByteBuffer(string: "12345")), at: start)
        #expect(budget.reserved == 5)
        connection.ended()
        connection.ended()
        #expect(budget.reserved == 0)
    }

    @Test mutating func `bytes of a delivered body stay reserved while its receiver holds them`() {
        _ = connection.receive(head(), at: start)
        _ = connection.receive(.body(ByteBuffer(string: "12345")), at: start)
        var delivered: ReservedBody?
        if case .deliver(_, let body) = connection.receive(.end, at: start) { delivered = body }
        #expect(delivered?.bytes.readableBytes == 5)
        connection.ended()
        #expect(budget.reserved == 5, "the connection is gone, the bytes are not")
        delivered = nil
        #expect(budget.reserved == 0)
    }

    @Test func `a reservation grows and shrinks with the body`() {
        let budget = BodyBudget(.bytes(100))
        var reservation: BodyReservation? = BodyReservation(from: budget)
        #expect(reservation?.grow(by: 60) == true && budget.reserved == 60)
        #expect(reservation?.grow(by: 41) == false && budget.reserved == 60)
        #expect(reservation?.resize(to: 45) == true && budget.reserved == 45)
        #expect(reservation?.resize(to: 101) == false && reservation?.bytes == 45)
        reservation?.shrink(by: 5)
        #expect(budget.reserved == 40)
        reservation = nil
        #expect(budget.reserved == 0)
    }

    @Test mutating func `one byte more than the limit, or than the budget, is rejected`() {
        var crowded = connection
        _ = connection.receive(head(), at: start)
        expect(connection.receive(.body(ByteBuffer(repeating: 0, count: 10)), at: start), is: "nothing")
        _ = crowded.receive(head(), at: start)
        expect(crowded.receive(.body(ByteBuffer(repeating: 0, count: 3)), at: start), is: "overloaded")
        expect(connection.receive(.body(ByteBuffer(repeating: 0, count: 1)), at: start), is: "bodyTooLarge")
        #expect(budget.reserved == 0)
    }

    @Test func `large bodies leave an eighth of the budget to ordinary ones`() {
        let budget = BodyBudget(.mebibytes(8))
        let large = BodyBudget.ordinaryBodyBytes + 1
        #expect(budget.reserve(7 << 20, ofBodyWith: large) == nil)
        #expect(budget.reserve(1, ofBodyWith: large) != nil)
        #expect(budget.reserve(1 << 20, ofBodyWith: BodyBudget.ordinaryBodyBytes) == nil)
        #expect(budget.reserve(1, ofBodyWith: 1) != nil)
        #expect(budget.reserved == 8 << 20)
    }

    @Test func `a body in too many small parts is rejected`() {
        var rules = Self.rules
        rules.bodyLimit = .mebibytes(1)
        func refusedAfter(_ partBytes: Int) -> Int? {
            var connection = EdgeConnection(
                rules: rules, routes: Self.routes, budget: BodyBudget(.mebibytes(2)), at: start)
            _ = connection.receive(head(), at: start)
            let part = ByteBuffer(repeating: 0, count: partBytes)
            return (1...2000).first { _ in
                if case .refuse(.bodyTooFragmented, _, _) = connection.receive(.body(part), at: start) {
                    true
                } else {
                    false
                }
            }
        }
        #expect(refusedAfter(1) == 1029)
        #expect(refusedAfter(500) == nil)
    }

    @Test mutating func `an announced body takes no memory before it arrives`() {
        _ = connection.receive(head(), at: start)
        _ = connection.receive(.body(ByteBuffer(string: "1")), at: start)
        _ = connection.receive(.body(ByteBuffer(string: "2")), at: start)
        #expect(budget.reserved == 2)
        var body = ReservedBody()
        for _ in 0..<2 { body.append(ByteBuffer(string: "{")) }
        #expect(body.bytes.storageCapacity < 1024)
    }

    @Test mutating func `a server that stops closes idle connections and lets busy ones finish`() {
        var busy = connection
        expect(connection.quiesce(at: start), is: "finish")
        deliver(to: &busy)
        expect(busy.quiesce(at: start), is: "nothing")
        #expect(busy.deadline == start + .seconds(20))
        let answer = busy.beginAnswer(isLast: false)
        #expect(answer?.isLast == true)
        let goesOn = busy.endAnswer(at: start)
        #expect(!goesOn)
    }

    @Test mutating func `the last answer keeps its deadline until it is written`() {
        deliver(to: &connection)
        _ = connection.beginAnswer(isLast: true)
        _ = connection.endAnswer(at: start + .seconds(1))
        #expect(connection.deadline == start + .seconds(60))
        connection.wroteLastAnswer(at: start + .seconds(30))
        #expect(connection.deadline == start + .seconds(32))
        expect(connection.deadlinePassed(at: start + .seconds(32)), is: "close")
    }

    @Test mutating func `a request that ends after the server began to stop has the grace, and no more`() {
        _ = connection.receive(head(), at: start)
        expect(connection.quiesce(at: start + .seconds(1)), is: "nothing")
        expect(connection.receive(.end, at: start + .seconds(2)), is: "deliver")
        #expect(connection.deadline == start + .seconds(21))
        expect(connection.deadlinePassed(at: start + .seconds(21)), is: "answerLate")
    }

    @Test func `a request that begins after the server began to stop has the grace, and no more`() {
        var rules = Self.rules
        (rules.idleGrace, rules.requestDeadline) = (.seconds(4), .seconds(30))
        var connection = EdgeConnection(rules: rules, routes: Self.routes, budget: budget, at: start)
        expect(connection.quiesce(at: start, isDelayed: true), is: "nothing")
        _ = connection.receive(head(), at: start + .seconds(3))
        #expect(connection.deadline == start + .seconds(20))
        expect(connection.receive(.end, at: start + .seconds(4)), is: "deliver")
        #expect(connection.deadline == start + .seconds(20))
    }

    @Test func `a body grows in location`() {
        var body = ReservedBody()
        var addresses: Set<UInt> = []
        for _ in 0..<10_000 {
            body.append(ByteBuffer(bytes: [0]))
            addresses.insert(unsafe body.bytes.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) })
        }
        #expect(body.bytes.readableBytes == 10_000)
        #expect(addresses.count < 30, "reallocations double the capacity; copies would be thousands")
    }

    // MARK: - Steps

    private func head() -> RequestPart {
        .head(Self.head())
    }

    private static func head(_ headers: HTTPHeaders = [:]) -> RequestHeader {
        guard let header = try? RequestHeader.forTests(headers.addingHost()) else { preconditionFailure("no header") }
        return header
    }

    private func deliver(to connection: inout EdgeConnection) {
        _ = connection.receive(head(), at: start)
        _ = connection.receive(.body(ByteBuffer(string: "12345")), at: start)
        expect(connection.receive(.end, at: start), is: "deliver")
    }

    private func expect(
        _ action: EdgeConnection.Action, is name: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(String(describing: action.refusalOrSelf).hasPrefix(name), sourceLocation: sourceLocation)
    }
}

extension EdgeConnection.Action {
    fileprivate var refusalOrSelf: Any {
        if case .refuse(let refusal, _, _) = self { refusal } else { self }
    }
}
