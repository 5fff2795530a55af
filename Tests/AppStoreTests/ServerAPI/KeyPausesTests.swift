// SPDX-License-Identifier: Apache-2.0

import Gateway
import Resilience
import Testing

@testable import AppStore

struct KeyPausesTests {
    private static let start = Instant.now
    private static let subject = KeyPauses.Subject(key: ServerAPISamples.key, bundleID: "a", environment: .sandbox)

    @Test func `each rejection doubles the pause, up to an hour`() {
        var pauses = KeyPauses(), now = Self.start
        var spans: [Duration] = []
        for _ in 0..<8 {
            guard let span = pauses.recordRejection(of: Self.subject, at: now) else { break }
            spans.append(span)
            #expect(pauses.remaining(of: Self.subject, at: now) == span)
            now += span
            #expect(pauses.remaining(of: Self.subject, at: now) == nil)
        }
        #expect(spans == [60, 120, 240, 480, 960, 1920, 3600, 3600].map { .seconds($0) })
    }

    @Test func `rejections during a pause add nothing`() {
        var pauses = KeyPauses()
        #expect(pauses.recordRejection(of: Self.subject, at: Self.start) == .seconds(60))
        #expect(pauses.recordRejection(of: Self.subject, at: Self.start + .seconds(59)) == nil)
        #expect(pauses.remaining(of: Self.subject, at: Self.start + .seconds(59)) == .seconds(1))
        #expect(pauses.recordRejection(of: Self.subject, at: Self.start + .seconds(60)) == .seconds(120))
    }

    @Test func `an acceptance ends the pause and the doubling`() {
        var pauses = KeyPauses()
        _ = pauses.recordRejection(of: Self.subject, at: Self.start)
        pauses.recordAcceptance(of: Self.subject)
        #expect(pauses.remaining(of: Self.subject, at: Self.start) == nil)
        #expect(pauses.recordRejection(of: Self.subject, at: Self.start) == .seconds(60))
    }

    @Test func `a pause is for one app, private key and host`() {
        var pauses = KeyPauses()
        _ = pauses.recordRejection(of: Self.subject, at: Self.start)
        let others = [
            KeyPauses.Subject(key: ServerAPISamples.key, bundleID: "b", environment: .sandbox),
            KeyPauses.Subject(key: ServerAPISamples.otherKey, bundleID: "a", environment: .sandbox),
            KeyPauses.Subject(key: ServerAPISamples.key, bundleID: "a", environment: .production),
        ]
        #expect(others.allSatisfy { pauses.remaining(of: $0, at: Self.start) == nil })
    }

    @Test func `the list has the current pauses only`() {
        var pauses = KeyPauses()
        for (app, seconds) in [("b", 0), ("a", 0), ("old", -60)] {
            let subject = KeyPauses.Subject(key: ServerAPISamples.key, bundleID: app, environment: .sandbox)
            _ = pauses.recordRejection(of: subject, at: Self.start + .seconds(seconds))
        }
        let paused = ["a", "b"].map { PausedKey(keyID: "TESTKEY001", bundleID: $0, remaining: .seconds(60)) }
        #expect(pauses.current(at: Self.start) == paused)
    }

    @Test func `beyond the limit the pause that ends first is forgotten`() {
        var pauses = KeyPauses()
        for index in 0...KeyPauses.Limits.count {
            let subject = KeyPauses.Subject(key: ServerAPISamples.key, bundleID: "\(index)", environment: .sandbox)
            _ = pauses.recordRejection(of: subject, at: Self.start + .milliseconds(index))
        }
        let paused = pauses.current(at: Self.start + .seconds(30))
        #expect(paused.count == KeyPauses.Limits.count && !paused.contains { $0.bundleID == "0" })
    }
}
