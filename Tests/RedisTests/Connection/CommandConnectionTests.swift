// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import Redis

/// A connection with a deadline of 50 ms, which ends at ten times as much.
struct CommandConnectionTests {
    private static let refusal = RedisRefusal(line: "ERR no")

    @Test func `it logs in with all settings, and is ready after the last reply`() {
        var configuration = RedisNodeConfiguration(address: .unixSocket("/x"))
        (configuration.credentials, configuration.database) = (.init(user: "gateway", password: "secret"), 3)
        configuration.scripts = [RedisScript("return 1")]
        var connection = CommandConnection<Int>(configuration, until: at(250))
        let said = connection.begin().map { $0.words.map { String(decoding: $0.bytes, as: UTF8.self) } }
        #expect(
            said == [
                ["AUTH", "gateway", "secret"], ["SELECT", "3"], ["CLIENT", "SETNAME", "receipt-gateway"],
                ["SCRIPT", "LOAD", "return 1"], ["PING"],
            ])
        #expect(connection.submit(1, commands: 1, since: at(0), at: at(0)) == .notConnected)
        for _ in 0..<4 { #expect(Seen(connection.receive(.status("OK"), at: at(1))) == .nothing) }
        #expect(Seen(connection.receive(.status("PONG"), at: at(1))) == .ready)
        #expect(connection.submit(1, commands: 1, since: at(0), at: at(1)) == nil)
    }

    @Test func `a refused login ends it, and so does one that takes too long`() {
        var refused = CommandConnection<Int>(configuration(), until: at(250))
        #expect(Seen(refused.receive(.status("OK"), at: at(0))) == .nothing)
        #expect(Seen(refused.receive(.error(Self.refusal), at: at(0))) == .end(.refused(Self.refusal)))
        var slow = CommandConnection<Int>(configuration(), until: at(250))
        #expect(slow.deadline == at(250))
        #expect(Seen(slow.deadlinePassed(at: at(250))) == .end(.stalled))
    }

    @Test(arguments: [
        ("WRONGPASS very-secret is wrong", "WRONGPASS"), ("very-secret", "ERR"), ("NOAUTH you sent very-sec", "NOAUTH"),
        ("LOADING very-secret", "LOADING"), ("ERR AUTH <password> very-secret", "ERR"),
    ])
    func `no error of the login repeats the password`(line: String, word: String) {
        var configuration = RedisNodeConfiguration(address: .unixSocket("/x"))
        configuration.credentials.password = "very-secret"
        let refusal = RedisRefusal(line: "\(word) (reply hidden: it repeats the password)")
        for answersBefore in 0..<2 {
            var connection = CommandConnection<Int>(configuration, until: at(250))
            _ = connection.begin()
            for _ in 0..<answersBefore { #expect(Seen(connection.receive(.status("OK"), at: at(1))) == .nothing) }
            #expect(Seen(connection.receive(.error(RedisRefusal(line: line)), at: at(1))) == .end(.refused(refusal)))
        }
    }

    @Test func `a user without permission to set a name is accepted`() {
        var connection = CommandConnection<Int>(configuration(), until: at(250))
        #expect(Seen(connection.receive(.error(RedisRefusal(line: "NOPERM x")), at: at(0))) == .nothing)
        #expect(Seen(connection.receive(.status("PONG"), at: at(0))) == .ready)
    }

    @Test func `replies are delivered in order, those of a batch together`() {
        var connection = ready()
        #expect(connection.submit(1, commands: 2, since: at(0), at: at(0)) == nil)
        #expect(connection.submit(2, commands: 1, since: at(0), at: at(0)) == nil)
        #expect(Seen(connection.receive(.integer(10), at: at(1))) == .nothing)
        #expect(
            Seen(connection.receive(.error(Self.refusal), at: at(1)))
                == .deliver(1, [.success(.integer(10)), .failure(.refused(Self.refusal))], thenEnd: nil))
        #expect(
            Seen(connection.receive(.integer(11), at: at(1))) == .deliver(2, [.success(.integer(11))], thenEnd: nil))
        #expect(connection.deadline == nil)
    }

    @Test func `the reply to a command that timed out is dropped`() {
        var connection = ready()
        _ = connection.submit(1, commands: 2, since: at(0), at: at(0))
        _ = connection.submit(2, commands: 1, since: at(10), at: at(10))
        _ = connection.receive(.integer(1), at: at(20))
        #expect(connection.deadline == at(50))
        #expect(
            Seen(connection.deadlinePassed(at: at(50)))
                == .deliver(1, [.success(.integer(1)), .failure(.timeout)], thenEnd: nil))
        #expect(connection.deadline == at(60))
        #expect(Seen(connection.receive(.integer(2), at: at(55))) == .nothing)
        #expect(Seen(connection.receive(.integer(3), at: at(55))) == .deliver(2, [.success(.integer(3))], thenEnd: nil))
        _ = connection.submit(3, commands: 1, since: at(60), at: at(60))
        #expect(Seen(connection.receive(.integer(4), at: at(61))) == .deliver(3, [.success(.integer(4))], thenEnd: nil))
    }

    @Test func `timeouts come in order, and the oldest reply that never comes ends the connection`() {
        var connection = ready()
        _ = connection.submit(1, commands: 1, since: at(0), at: at(0))
        _ = connection.submit(2, commands: 1, since: at(10), at: at(10))
        #expect(Seen(connection.deadlinePassed(at: at(60))) == .deliver(1, [.failure(.timeout)], thenEnd: nil))
        #expect(Seen(connection.deadlinePassed(at: at(60))) == .deliver(2, [.failure(.timeout)], thenEnd: nil))
        #expect(connection.deadline == at(500))
        #expect(Seen(connection.deadlinePassed(at: at(499))) == .nothing)
        _ = connection.submit(3, commands: 1, since: at(490), at: at(490))
        #expect(Seen(connection.deadlinePassed(at: at(500))) == .end(.stalled))
        #expect(connection.end(.stalled) == [Delivery(waiter: 3, results: [.failure(.connectionLost)])])
    }

    @Test func `late replies keep the connection`() {
        var connection = ready()
        for round in 0..<20 {
            let now = round * 100
            _ = connection.submit(round, commands: 1, since: at(now), at: at(now))
            #expect(
                Seen(connection.deadlinePassed(at: at(now + 50))) == .deliver(round, [.failure(.timeout)], thenEnd: nil)
            )
            #expect(Seen(connection.receive(.integer(0), at: at(now + 90))) == .nothing)
        }
        #expect(connection.deadline == nil)
    }

    @Test func `a command whose deadline passed before it was sent is not sent`() {
        var connection = ready()
        #expect(connection.submit(1, commands: 1, since: at(0), at: at(50)) == .timeout)
        #expect(Seen(connection.receive(.integer(1), at: at(51))) == .end(.protocolViolation))
    }

    @Test func `the pipeline is limited, and commands that timed out count`() {
        var connection = ready { $0.limits.maximumPipelined = 3 }
        #expect(connection.submit(1, commands: 4, since: at(0), at: at(0)) == .pipelineFull)
        #expect(connection.submit(1, commands: 2, since: at(0), at: at(0)) == nil)
        #expect(connection.submit(2, commands: 1, since: at(0), at: at(0)) == nil)
        #expect(connection.submit(3, commands: 1, since: at(0), at: at(0)) == .pipelineFull)
        _ = connection.deadlinePassed(at: at(50))
        #expect(connection.submit(3, commands: 1, since: at(50), at: at(50)) == .pipelineFull)
        _ = connection.receive(.integer(1), at: at(51))
        #expect(connection.submit(3, commands: 1, since: at(51), at: at(51)) == nil)
    }

    @Test(arguments: [
        "READONLY You can't write", "NOAUTH Authentication required.",
        "ERR Error running script (call to f_6b1b): @user_script:5: @user_script: 5: -READONLY You can't write",
    ])
    func `after a change of role or login, the connection ends with its last reply`(_ line: String) {
        let refusal = RedisRefusal(line: line)
        var connection = ready()
        _ = connection.submit(1, commands: 1, since: at(0), at: at(0))
        _ = connection.submit(2, commands: 1, since: at(0), at: at(0))
        #expect(
            Seen(connection.receive(.error(refusal), at: at(1)))
                == .deliver(1, [.failure(.refused(refusal))], thenEnd: nil))
        #expect(connection.submit(3, commands: 1, since: at(1), at: at(1)) == .notConnected)
        #expect(
            Seen(connection.receive(.integer(1), at: at(1)))
                == .deliver(2, [.success(.integer(1))], thenEnd: .refused(refusal)))
    }

    @Test func `an unexpected reply breaks the protocol`() {
        var connection = ready()
        #expect(Seen(connection.receive(.status("OK"), at: at(0))) == .end(.protocolViolation))
    }

    @Test(arguments: [
        (RedisConnectionFault.closed, RedisError.connectionLost), (.shutDown, .shutDown),
        (.protocolViolation, .protocolViolation),
    ])
    func `at the end, every waiter gets the replies so far and the reason`(
        _ fault: RedisConnectionFault, _ error: RedisError
    ) {
        var connection = ready()
        _ = connection.submit(1, commands: 2, since: at(0), at: at(0))
        _ = connection.submit(2, commands: 1, since: at(1), at: at(1))
        _ = connection.receive(.integer(1), at: at(2))
        #expect(
            connection.end(fault) == [
                Delivery(waiter: 1, results: [.success(.integer(1)), .failure(error)]),
                Delivery(waiter: 2, results: [.failure(error)]),
            ])
        #expect(connection.deadline == nil)
        #expect(connection.submit(3, commands: 1, since: at(2), at: at(2)) == .notConnected)
    }

    private func configuration() -> RedisNodeConfiguration { RedisNodeConfiguration(address: .unixSocket("/x")) }

    private func ready(_ configure: (inout RedisNodeConfiguration) -> Void = { _ in }) -> CommandConnection<Int> {
        var configuration = configuration()
        configure(&configuration)
        var connection = CommandConnection<Int>(configuration, until: at(0))
        for _ in connection.begin() { _ = connection.receive(.status("OK"), at: at(0)) }
        return connection
    }
}

/// Returns a time in milliseconds after a fixed one.
func at(_ milliseconds: Int) -> NIODeadline { .uptimeNanoseconds(1_000_000_000) + .milliseconds(Int64(milliseconds)) }

/// An action in a comparable form.
enum Seen: Equatable {
    case nothing, ready
    case send([[String]])
    case deliver(Int, [Result<RedisValue, RedisError>], thenEnd: RedisConnectionFault?)
    case observe(RedisEvent)
    case end(RedisConnectionFault)

    init(_ action: ConnectionAction<Int>) {
        switch action {
        case .deliver(let delivery, let fault): self = .deliver(delivery.waiter, delivery.results, thenEnd: fault)
        case .nothing: self = .nothing
        case .send(let commands): self = .send(Self.words(commands))
        case .becomeReady: self = .ready
        case .observe(let event): self = .observe(event)
        case .end(let fault): self = .end(fault)
        }
    }

    init(_ action: ConnectionAction<Never>) {
        switch action {
        case .nothing, .deliver: self = .nothing
        case .send(let commands): self = .send(Self.words(commands))
        case .becomeReady: self = .ready
        case .observe(let event): self = .observe(event)
        case .end(let fault): self = .end(fault)
        }
    }

    static func words(_ commands: [RedisCommand]) -> [[String]] {
        commands.map { $0.words.map { String(decoding: $0.bytes, as: UTF8.self) } }
    }
}
