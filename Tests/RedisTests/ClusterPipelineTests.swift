// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Redis

struct ClusterPipelineTests {
    private let a = RedisAddress.host("a", port: 1)
    private let b = RedisAddress.host("b", port: 1)
    private var map = SlotMap()

    /// `foo` is on a, `bar` on b, `hello` nowhere.
    init() {
        map.move(HashSlot(of: "foo"), to: a)
        map.move(HashSlot(of: "bar"), to: b)
    }

    private func refused(_ line: String) -> Result<RedisValue, RedisError> {
        .failure(.refused(RedisRefusal(line: line)))
    }

    private func words(_ batch: ClusterPipeline.Batch?) -> [[String]] {
        batch.map { $0.commands.map { $0.words.map { String(decoding: $0.bytes, as: UTF8.self) } } } ?? []
    }

    @Test func `commands are grouped by node, and results are in the order of the commands`() throws {
        var pipeline = ClusterPipeline([
            RedisCommand("GET", key: "foo"), RedisCommand("GET", key: "bar"), RedisCommand("TTL", key: "foo"),
            RedisCommand("PING"), RedisCommand("GET", key: "hello"),
        ])
        let batches = pipeline.takeBatches(by: map)
        #expect(batches.map(\.node) == [a, b])
        #expect(words(batches.first) == [["GET", "foo"], ["TTL", "foo"], ["PING"]])
        #expect(words(batches.last) == [["GET", "bar"]])
        _ = pipeline.take([.success(.integer(2))], to: batches[1])
        _ = pipeline.take([.success(.integer(1)), .success(.integer(3)), .success(.integer(4))], to: batches[0])
        #expect(pipeline.isDone)
        #expect(
            pipeline.results == [
                .success(.integer(1)), .success(.integer(2)), .success(.integer(3)), .success(.integer(4)),
                .failure(.notConnected),
            ])
    }

    @Test func `only the moved command is sent again, by the corrected map`() throws {
        var pipeline = ClusterPipeline([RedisCommand("GET", key: "foo"), RedisCommand("TTL", key: "foo")])
        let first = try #require(pipeline.takeBatches(by: map).first)
        let hints = pipeline.take([refused("MOVED 12182 b:1"), .success(.integer(1))], to: first)
        #expect(hints.redirections == [.moved(HashSlot(of: "foo"), to: b)])
        #expect(!pipeline.isDone)
        var moved = map
        moved.move(HashSlot(of: "foo"), to: b)
        let second = try #require(pipeline.takeBatches(by: moved).first)
        #expect(second.node == b)
        #expect(words(second) == [["GET", "foo"]])
        _ = pipeline.take([.success(.integer(0))], to: second)
        #expect(pipeline.isDone)
        #expect(pipeline.results == [.success(.integer(0)), .success(.integer(1))])
    }

    @Test(arguments: ["MOVED 12182 b:1", "ASK 12182 b:1", "TRYAGAIN wait"])
    func `a wait for replicas follows its redirected command`(redirection: String) throws {
        var pipeline = ClusterPipeline([
            RedisCommand("SET", key: "foo", "1"), RedisCommand(["WAIT", "1", "1000"], key: "foo"),
            RedisCommand("GET", key: "foo"),
        ])
        let first = try #require(pipeline.takeBatches(by: map).first)
        // The node has nothing to wait for: all its replicas have it.
        _ = pipeline.take([refused(redirection), .success(.integer(1)), .success(.integer(5))], to: first)
        let second = try #require(pipeline.takeBatches(by: map).first)
        #expect(words(second).filter { $0 != ["ASKING"] } == [["SET", "foo", "1"], ["WAIT", "1", "1000"]])
        #expect(second.node == (redirection.hasPrefix("ASK") ? b : a))
        let replies = second.commands.map { $0.words.first == "WAIT" ? RedisValue.integer(0) : .status("OK") }
        _ = pipeline.take(replies.map { .success($0) }, to: second)
        #expect(pipeline.isDone)
        #expect(pipeline.results == [.success(.status("OK")), .success(.integer(0)), .success(.integer(5))])
    }

    @Test func `each command after ASK has its own ASKING, whose reply is dropped`() throws {
        var pipeline = ClusterPipeline([RedisCommand("GET", key: "foo"), RedisCommand("TTL", key: "foo")])
        let first = try #require(pipeline.takeBatches(by: map).first)
        let hints = pipeline.take([refused("ASK 12182 b:1"), refused("ASK 12182 b:1")], to: first)
        #expect(!hints.isMapInDoubt && !pipeline.wantsPause)
        let second = try #require(pipeline.takeBatches(by: map).first)
        #expect(second.node == b)
        #expect(words(second) == [["ASKING"], ["GET", "foo"], ["ASKING"], ["TTL", "foo"]])
        let ok = Result<RedisValue, RedisError>.success(.status("OK"))
        _ = pipeline.take([ok, .success(.integer(1)), ok, .success(.integer(2))], to: second)
        #expect(pipeline.results == [.success(.integer(1)), .success(.integer(2))])
        #expect(pipeline.isDone)
    }

    @Test func `TRYAGAIN is sent again after a pause`() throws {
        var pipeline = ClusterPipeline([RedisCommand("GET", key: "foo")])
        let first = try #require(pipeline.takeBatches(by: map).first)
        _ = pipeline.take([refused("TRYAGAIN Multiple keys request during rehashing of slot")], to: first)
        #expect(!pipeline.isDone && pipeline.wantsPause)
        #expect(pipeline.takeBatches(by: map).first?.node == a)
        #expect(!pipeline.wantsPause)
    }

    @Test func `a redirection target that is connecting is waited for, and ASKING is not lost`() throws {
        var pipeline = ClusterPipeline([RedisCommand("GET", key: "foo")])
        let first = try #require(pipeline.takeBatches(by: map).first)
        _ = pipeline.take([refused("ASK 12182 c:1")], to: first)
        let second = try #require(pipeline.takeBatches(by: map).first)
        _ = pipeline.take([.failure(.notConnected), .failure(.notConnected)], to: second, isRedirected: true)
        #expect(!pipeline.isDone && pipeline.wantsPause)
        #expect(words(pipeline.takeBatches(by: map).first) == [["ASKING"], ["GET", "foo"]])
    }

    @Test(arguments: [RedisError.notConnected, .connectionLost, .timeout])
    func `a node that is gone is not tried again`(
        _ error: RedisError
    ) throws {
        var pipeline = ClusterPipeline([RedisCommand("GET", key: "foo")])
        let first = try #require(pipeline.takeBatches(by: map).first)
        let hints = pipeline.take([.failure(error)], to: first)
        #expect(hints.isMapInDoubt)
        #expect(pipeline.isDone)
        #expect(pipeline.results == [.failure(error)])
    }

    @Test func `an error that is a command's result does not concern the cluster`() throws {
        var pipeline = ClusterPipeline([RedisCommand("GET", key: "foo")])
        let first = try #require(pipeline.takeBatches(by: map).first)
        let hints = pipeline.take([refused("WRONGTYPE Operation against a key")], to: first)
        #expect(!hints.isMapInDoubt && hints.redirections.isEmpty && pipeline.isDone)
    }
}
