// SPDX-License-Identifier: Apache-2.0

import Logging
import Receipts
import Testing

@testable import ServerTestSupport
@testable import Telemetry

@Suite("Log lines")
struct JSONLogHandlerTests {
    private let lines = LogLines()

    @Test func `an event is one line of JSON with typed metadata`() {
        var logger = logger()
        logger[metadataKey: "request_id"] = "a\nb"
        logger.info(
            "said \"so\"",
            metadata: ["status": "\(200)", "count": .stringConvertible(3), "ok": .stringConvertible(true)])
        #expect(
            lines.containing("") == [
                #"{"time":"1970-01-01T00:00:01.500Z","level":"info","logger":"test","message":"said \"so\"","#
                    + #""count":3,"ok":true,"request_id":"a\nb","status":"200"}"# + "\n"
            ])
    }

    @Test func `an integer of any type is a number`() {
        let (least, most): (Logger.MetadataValue, Logger.MetadataValue) = (
            .stringConvertible(Int64.min), .stringConvertible(UInt64.max)
        )
        logger().info("x", metadata: ["least": least, "most": most, "status": .stringConvertible(UInt16(404))])
        let line = #""least":-9223372036854775808,"most":18446744073709551615,"status":404}"#
        #expect(lines.containing(line).count == 1)
    }

    @Test func `nested metadata becomes nested JSON`() {
        logger().warning("x", metadata: ["list": ["a", "b"], "map": ["k": ["n": .stringConvertible(1)]]])
        #expect(lines.containing(#""list":["a","b"],"map":{"k":{"n":1}}}"#).count == 1)
    }

    @Test func `metadata does not replace the fixed members of a line`() {
        logger().error("real", metadata: ["message": "fake", "time": "never"])
        #expect(lines.containing("real").count == 1)
        #expect(lines.containing("fake").isEmpty)
    }

    @Test func `events below the level are not written`() {
        logger().debug("quiet")
        #expect(lines.containing("").isEmpty)
    }

    private func logger() -> Logger {
        Logger(label: "test") { label in
            JSONLogHandler(
                label: label, level: .info, clock: { Timestamp(millisecondsSince1970: 1500) }, write: lines.append)
        }
    }
}
