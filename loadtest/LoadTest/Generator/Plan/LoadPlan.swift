// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

struct LoadPlan: Sendable {
    var target: LoadTarget
    /// The certificates that the target may prove its name with, if the URL is https.
    var trust = TLSTrust.system
    /// The times of requests; ignored in a closed loop.
    var schedule = LoadSchedule(curve: RateCurve(stages: []), first: 0)
    /// True if each connection sends as soon as its answer is there, whatever the schedule.
    var isClosed = false
    /// The length of a closed loop's recorded part; an open loop takes as long as its stages.
    var closedSeconds = 10.0
    var warmupSeconds = 0.0
    /// The number of requests that ends the recorded part.
    var maximumRequests: Int?
    var connections = 64
    var pipelining = 1
    var workers = 1
    /// True if the workers' threads leave the core to every other thread that wants it.
    var givesWay = false
    /// The longest time from the sending of a request to the end of its answer, and of the wait for a connection.
    var timeout = Duration.seconds(10)
    var seed: UInt64 = 1
    var limits = GeneratorLimits()
    /// Receives the end of each request, on the worker's thread; nil if only sums matter.
    var completion: (@Sendable (Completion) -> Void)?

    /// Returns a plan that sends as fast as the server answers, for some seconds or a number of requests.
    static func closed(
        _ target: LoadTarget, over connections: Int, seconds: Double, requests: Int? = nil
    ) -> LoadPlan {
        var plan = LoadPlan(target: target)
        (plan.isClosed, plan.closedSeconds, plan.maximumRequests) = (true, seconds, requests)
        plan.connections = connections
        return plan
    }

    /// The length of the recorded part; infinite if only a number of requests ends it.
    var seconds: Double {
        guard let maximumRequests, !isClosed else { return isClosed ? closedSeconds : schedule.curve.seconds }
        var cursor = RateCursor(curve: schedule.curve)
        return cursor.time(ofCount: Double(maximumRequests)) ?? schedule.curve.seconds
    }

    /// Returns the part of a number that falls to the worker with this number; all parts together make the number.
    func share(of total: Int, worker: Int) -> Int { total / workers + (worker < total % workers ? 1 : 0) }
}

struct Completion: Sendable {
    /// The time from the moment the request was due.
    let latency: Duration
    let status: Int?
    /// The beginning of the answer's body, of as many bytes as the plan's limits say.
    let opening: [UInt8]
}

struct LoadSchedule: Hashable, Sendable {
    let curve: RateCurve
    var pattern = ArrivalPattern.constant
    /// The rate of the warm-up.
    let first: Double

    static func constant(_ rate: Double, seconds: Double, _ pattern: ArrivalPattern = .constant) -> LoadSchedule {
        let stage = RateStage(from: rate, to: rate, seconds: seconds)
        return LoadSchedule(curve: RateCurve(stages: [stage]), pattern: pattern, first: rate)
    }
}

/// The limits of the generator, and the bounds of lateness.
struct GeneratorLimits: Hashable, Sendable {
    /// The requests of one worker that wait for a connection; beyond it they fail.
    var maximumWaiting = 200_000
    /// The requests that are taken up at once; then answers are read.
    var maximumBatch = 1000
    var late = Duration.milliseconds(5)
    var maximumLateShare = 0.01
    /// The shortest sleep; within it work is taken up together.
    var shortestSleep = Duration.microseconds(20)
    /// The share of the response's 99th percentile up to which the lateness's 99th percentile is tolerated.
    var maximumLagShare = 0.1
    /// The share of busy time beyond which workers have nothing left to give.
    var maximumBusyShare = 0.95
    /// The share of answered requests, and of the planned time, below which the generator is behind.
    var minimumDoneShare = 0.98
    var connectTimeout = Duration.seconds(5)
    /// The first pause between attempts to connect again, which doubles each time.
    var firstReconnectPause = Duration.milliseconds(10)
    var longestReconnectPause = Duration.seconds(1)
    var answer = AnswerLimits()
}

struct AnswerLimits: Hashable, Sendable {
    /// Bytes of the status line and all header fields, and again of the trailer.
    var maximumHeadBytes = 32 << 10
    var maximumLineBytes = 8 << 10
    /// Bytes of the body, chunks counted without their sizes.
    var maximumBodyBytes = 64 << 20
    var maximumInterimAnswers = 8
    /// Kept bytes of the body's beginning, where a gateway names the source of its answer.
    var openingBytes = 256
}

/// The server that receives the load: an http or https URL.
struct LoadTarget: Hashable, Sendable {
    var isSecure = false
    let host: String
    let port: Int
    let path: String

    /// The value of the field Host (RFC 9110 §7.2).
    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }

    static func loopback(_ port: Int, _ path: String = "/v1/verify") -> LoadTarget {
        LoadTarget(host: "127.0.0.1", port: port, path: path)
    }

    var origin: String { "\(isSecure ? "https" : "http")://\(authority)" }
    var url: String { origin + path }
}

enum LoadTargetError: Error, Hashable, CustomStringConvertible {
    case notHTTP(String)
    /// No host, a port out of range, a character that has no place in a request line.
    case malformed(String)

    var description: String {
        switch self {
        case .notHTTP(let text):
            "'\(text)' is no URL that begins with http:// or https://, such as http://127.0.0.1:8080/v1/verify."
        case .malformed(let text): "'\(text)' is no URL of the form http://host[:port][/path]."
        }
    }
}

extension LoadTarget {
    /// Reads `http://host[:port][/path][?query]`, or such a URL with https.
    init(_ text: String, defaultPath: String = "/") throws(LoadTargetError) {
        let scheme = text.lowercased().prefix { $0 != ":" }
        guard ["http", "https"].contains(scheme), text.dropFirst(scheme.count).hasPrefix("://") else {
            throw .notHTTP(text)
        }
        isSecure = scheme == "https"
        let usualPort = isSecure ? 443 : 80
        let visible = text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard visible, let url = URL(string: text), url.user == nil, let host = url.host(), !host.isEmpty,
            (1...65535).contains(url.port ?? usualPort)
        else { throw .malformed(text) }
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        port = url.port ?? usualPort
        let path = url.path(percentEncoded: true)
        let query = url.query(percentEncoded: true).map { "?" + $0 } ?? ""
        self.path = (path.isEmpty ? defaultPath : path) + query
    }
}
