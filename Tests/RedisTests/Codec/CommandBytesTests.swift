// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import Redis

struct CommandBytesTests {
    @Test func `a command is an array of strings`() {
        #expect(formatted([RedisCommand("GET", key: "a")]) == "*2\r\n$3\r\nGET\r\n$1\r\na\r\n")
    }

    @Test func `several follow each other, with words of any bytes, empty ones too`() {
        let commands = [RedisCommand("ECHO", ""), RedisCommand("ECHO", RedisWord([0, 13, 10]))]
        #expect(formatted(commands) == "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n*2\r\n$4\r\nECHO\r\n$3\r\n\0\r\n\r\n")
        #expect(formatted([RedisCommand("")]) == "*1\r\n$0\r\n\r\n")
    }

    @Test func `a command without words is rejected`() {
        #expect(ByteBuffer(commands: [RedisCommand("PING"), RedisCommand([], key: nil)]) == nil)
    }

    private func formatted(_ commands: [RedisCommand]) -> String? {
        ByteBuffer(commands: commands).map { String(buffer: $0) }
    }
}
