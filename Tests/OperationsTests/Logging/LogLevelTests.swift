// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Logging
import NIOHTTP1
import Receipts
import Testing
import TestSupport

@testable import HTTPServer
@testable import Operations
@testable import ServerTestSupport
@testable import Settings
@testable import Telemetry

@Suite("Log settings at run time", .timeLimit(.patient))
struct LogLevelTests {
    private var gateway: RunningGateway { .current }

    @Test(.gateway) func `the settings are shown, changed and logged`() async throws {
        #expect(try await gateway.logLevel().body == #"{"level":"info","requests":"all"}"#)
        let changed = try await gateway.changeLog(#"{"level":"warning"}"#)
        #expect(changed.status == 200 && changed.body == #"{"level":"warning","requests":"all"}"#)
        // The change is logged although the level is now higher.
        let said = gateway.log.containing("Log settings changed")
        #expect(said.count == 1 && said[0].contains(#""log_level":"warning","log_requests":"all""#))
        #expect(try await gateway.ask("GET /nowhere")?.status == 404)
        #expect(gateway.log.containing(#""message":"request""#).isEmpty)
        #expect(try await gateway.changeLog(#"{"requests":"none","level":"debug"}"#).status == 200)
        #expect(try await gateway.ask("GET /nowhere")?.status == 404)
        #expect(gateway.log.containing(#""message":"request""#).isEmpty)
        #expect(try await gateway.changeLog(#"{"requests":"all"}"#).status == 200)
        #expect(try await gateway.ask("GET /nowhere")?.status == 404)
        #expect(gateway.log.containing(#""message":"request""#).count == 1)
        #expect(try await gateway.logLevel().body == #"{"level":"debug","requests":"all"}"#)
    }

    @Test func `the configuration returns after the requested time`() async throws {
        try await RunningGateway.with {
            $0.log.values.level = .notice
        } _: { gateway in
            // A change that would end sooner is replaced. A second is the shortest time that can be requested.
            _ = try await gateway.changeLog(#"{"level":"error","for":"1s"}"#)
            let changed = try await gateway.changeLog(#"{"level":"trace","for":"2s"}"#)
            #expect(
                changed.body.contains(/"level":"trace","requests":"all","until":"20[-0-9T:.]+Z"/), "\(changed.body)")
            try await eventually {
                try await gateway.logLevel().body == #"{"level":"notice","requests":"all"}"#
            }
            try await eventually { gateway.log.containing("restored from the configuration").count == 1 }
        }
    }

    @Test(
        .gateway,
        arguments: [
            (#"{"level":"loud"}"#, "value_not_accepted"), (#"{"level":""}"#, "value_not_accepted"),
            (#"{"level":7}"#, "wrong_type"), (#"{"requests":"some"}"#, "value_not_accepted"),
            (#"{"requests":true}"#, "wrong_type"), ("{}", "missing_field"), (#"{"for":"10m"}"#, "missing_field"),
            (#"{"level":"info","for":"10"}"#, "value_not_accepted"),
            (#"{"level":"info","for":"999ms"}"#, "value_not_accepted"),
            (#"{"level":"info","for":"25h"}"#, "value_not_accepted"),
            (#"{"level":"info","level":"info"}"#, "duplicate_field"),
            (#"{"level":"info","why":"x"}"#, "unknown_field"), ("", "empty_body"), (#""debug""#, "not_an_object"),
            (#"{"level":"debug"} "# + "x", "trailing_data"),
            (#"{"level":"\#(String(repeating: "x", count: 40))"}"#, "text_too_long"),
        ])
    func `an invalid change is rejected and has no effect`(body: String, fault: String) async throws {
        let answer = try await gateway.changeLog(body)
        #expect(answer.status == 400 && answer.body.contains(#""fault":"\#(fault)""#), "\(answer.body)")
        #expect(try await gateway.logLevel().body == #"{"level":"info","requests":"all"}"#)
        #expect(gateway.log.containing("Log settings").isEmpty)
    }

    @Test(.gateway)
    func `only JSON is read, only on the admin plane, and only PUT changes the settings`() async throws {
        let text = try await gateway.changeLog("debug", ["Content-Type: text/plain"])
        #expect(text.status == 415)
        let page = try await gateway.changeLog(
            #"{"level":"trace"}"#, ["Content-Type: application/json", "Origin: http://evil.example"])
        #expect(page.status == 403, "a page in a browser on this machine")
        let post = try await gateway.ask("POST /log-level", port: gateway.adminPort)
        #expect(post?.status == 405 && post?.headers["allow"] == "GET, PUT, HEAD, OPTIONS")
        #expect(try await gateway.ask("GET /log-level")?.status == 404)
    }

    @Test func `a client without a loopback address changes nothing`() throws {
        let settings = LogSettings()
        let route = LogLevelRoute(settings: settings, logger: .silent) {
            Timestamp(millisecondsSince1970: 0)
        }
        let change = try #require(route.routes.first { $0.method == .put })
        #expect(throws: Problem.onlyFromThisMachine) {
            try change.handler(
                .forTests(["Content-Type": "application/json"], .PUT, "/log-level"), ReservedBody(nil, nil))
        }
        #expect(settings.current == LogSettings.Current(values: LogSettings.Values(), fallsBackAt: nil))
    }

    @Test func `a logger with its own level keeps it, others follow the settings`() {
        let settings = LogSettings(), lines = LogLines()
        let follower = Logger(label: "x") { JSONLogHandler(label: $0, settings: settings, write: lines.append) }
        var own = follower
        own.logLevel = .error
        for level in Logger.Level.allCases {
            settings.change(to: .init(level: level, requests: .none), for: nil, at: Timestamp(millisecondsSince1970: 0))
            { _ in }
            #expect(follower.logLevel == level && own.logLevel == .error && settings.requests == .none)
        }
    }
}

extension RunningGateway {
    fileprivate func logLevel() async throws -> RawAnswer {
        try #require(try await ask("GET /log-level", port: adminPort))
    }

    fileprivate func changeLog(
        _ body: String, _ fields: [String] = ["Content-Type: application/json"]
    ) async throws -> RawAnswer {
        try #require(try await ask("PUT /log-level", fields, body: body, port: adminPort))
    }
}
