// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Customers
internal import Gateway
internal import NIOPosix
internal import Receipts
internal import Redis
internal import RedisStore
internal import Settings
internal import Synchronization

/// Checks Redis with the gateway's client and login, but longer timeouts, so that slowness can be measured.
struct RedisCheck {
    private let configuration: RedisConfiguration
    private let jobs: JobRules
    private let client: RedisClientConfiguration
    private let report: CheckReport
    private let clock: @Sendable () -> Timestamp
    private let rules: AccessRules
    /// True if the settings use what only Redis keeps.
    private let usesKeptData: Bool
    private let redis: any RedisClient
    private let recorder = ConnectionRecorder()

    enum Limits {
        /// The time limit of a command and of an attempt to connect.
        static let timeout: Duration = .seconds(2)
        static let connecting: Duration = .seconds(6)
        static let pace: Duration = .milliseconds(2)
        /// The number of consecutive pings; the median counts.
        static let pings = 9
        static let clockDifference: Duration = .seconds(2)
    }

    /// Returns nil, with an observation, if no Redis is configured.
    init?(configuration: GatewayConfiguration, report: CheckReport, clock: @escaping @Sendable () -> Timestamp) {
        guard var client = try? RedisClientConfiguration(configuration.redis) else {
            report.ok("store", "not configured: this node shares nothing, which is right for a single node")
            return nil
        }
        client.node.commandDeadline = max(Limits.timeout, configuration.redis.deadline)
        client.node.connectDeadline = max(Limits.timeout, configuration.redis.connectDeadline)
        client.node.clientName = "receipt-gateway-doctor"
        self.configuration = configuration.redis
        jobs = configuration.jobs
        self.client = client
        self.report = report
        self.clock = clock
        rules = AccessRules(configuration, try? ClientsFile(configuration, at: clock()))
        usesKeptData = rules.useKeptData(configuration)
        redis = client.client(eventLoops: MultiThreadedEventLoopGroup.singleton.next(), observer: recorder)
    }

    func run() async -> StoreFinding {
        report.warn("login", configuration.loginFault)
        redis.start()
        await connect()
        checkTopology()
        let finding = checkConnection() ? await checkUse() : .unreachable
        await redis.shutdown()
        return finding
    }

    private func checkUse() async -> StoreFinding {
        checkAnnouncements()
        await checkLatency()
        await checkClock()
        let counts = await JobCounts(redis)
        let finding = await checkServer(isUsed: await hasKeptData(counts))
        report.record(counts, jobs)
        // Last, because a replica's refusal to write makes the client disconnect.
        return await checkCommands() ?? finding
    }

    private func hasKeptData(_ counts: JobCounts?) async -> Bool {
        if usesKeptData || counts.map({ $0.waiting > 0 }) == true { return true }
        return await KeptNotifications.exist(in: redis, ofApps: rules.knownApps.sorted())
    }

    // MARK: - Connecting

    private func connect() async {
        let end = ContinuousClock.now + Limits.connecting
        while !isSettled, ContinuousClock.now < end, !Task.isCancelled { try? await Task.sleep(for: Limits.pace) }
    }

    private var isSettled: Bool {
        let masters = redis.masters.values
        let haveAllTried = !masters.isEmpty && masters.allSatisfy { $0 != .disconnected(nil) }
        guard haveAllTried, case .connected? = recorder[.commands] else {
            return haveAllTried && recorder[.commands] != nil
        }
        return recorder[.subscriber] != nil
    }

    private func checkTopology() {
        let masters = redis.masters
        let away = masters.filter { if case .connected = $0.value { false } else { true } }.keys.map(\.description)
        switch client.url.topology {
        case .standalone: return
        case .sentinel(let name):
            if let master = masters.keys.first {
                return report.ok("topology", "\(master) is the sentinels' master \(name.printable())")
            }
            report.fail(
                "topology", "no sentinel names a working master \(name.printable())",
                do: "Check the name, the sentinels' addresses and their credentials in gateway.redis.url.")
        case .cluster where masters.isEmpty:
            report.fail(
                "topology", "no node at \(client.url) reports the masters of the cluster",
                do: "Check the addresses and the login, and that these nodes run with cluster-enabled.")
        case .cluster where away.isEmpty: report.ok("topology", "a cluster of \(masters.count) masters, all reachable")
        case .cluster:
            report.fail(
                "topology", "unreachable masters of the cluster: \(away.sorted().listed)",
                do: "Let the gateway reach each master at the address the cluster announces.")
        }
    }

    private func checkConnection() -> Bool {
        switch recorder[.commands] {
        case .connected(let span) where span > configuration.connectDeadline:
            report.warn(
                "connection",
                "\(client.url): connecting took \(span.rounded), more than gateway.redis.connect_deadline",
                do: "Raise it above \(configuration.connectDeadline.configurationText), or find the cause of the delay."
            )
            return true
        case .connected(let span):
            report.ok("connection", "\(client.url): connected and logged in within \(span.rounded)")
            return true
        case .failed(let fault):
            report.fail("connection", "\(client.url): \(fault.seen)", do: fault.advice(client.url))
        case nil:
            report.fail(
                "connection", "\(client.url): connecting timed out",
                do: "Check gateway.redis.url, and that no firewall drops packets.")
        }
        return false
    }

    private func checkAnnouncements() {
        switch recorder[.subscriber] {
        case .connected: report.ok("announcements", "changes of keys are announced (CLIENT TRACKING, SUBSCRIBE)")
        case .failed(let fault):
            report.fail(
                "announcements", "changes of keys are not announced: \(fault.seen)", do: fault.advice(client.url))
        case nil:
            report.fail(
                "announcements", "changes of keys are not announced: the subscription timed out",
                do: "See the log of Redis; CLIENT TRACKING needs Redis 6.")
        }
    }

    // MARK: - Using it

    /// - Returns: the fault for what Redis keeps; nil without one.
    private func checkCommands() async -> StoreFinding? {
        let probes = RedisProbes.commands()
        let faults = zip(probes, await redis.send(probes)).compactMap { command, result -> (String, RedisError)? in
            guard case .failure(let error) = result, !error.isUnknownScript else { return nil }
            return (command.description, error)
        }
        guard let first = faults.first?.1 else {
            report.ok("commands", "all commands and scripts of the gateway are allowed and work")
            return nil
        }
        var names: [String] = []
        for (name, _) in faults where !names.contains(name) { names.append(name) }
        report.fail("commands", "\(names.listed): \(first.seen)", do: first.advice)
        return .fault(.failed, seen: first.seen, advice: first.advice)
    }

    private func checkLatency() async {
        var spans: [Duration] = []
        for _ in 0..<Limits.pings {
            let began = ContinuousClock.now
            do throws(RedisError) {
                _ = try await redis.send(RedisCommand("PING"))
            } catch {
                return report.fail(
                    "latency", "a ping failed: \(error.seen)",
                    do: "Check Redis: its log, SLOWLOG GET, LATENCY DOCTOR.")
            }
            spans.append(began.duration(to: .now))
        }
        let median = spans.sorted()[Limits.pings / 2]
        let seen =
            "\(median.rounded) for a ping; gateway.redis.deadline is \(configuration.deadline.configurationText)"
        switch median {
        case ...(configuration.deadline / 4): report.ok("latency", seen)
        case ...configuration.deadline:
            report.warn(
                "latency", seen, do: "Under load, commands will time out: move Redis closer, or raise the deadline.")
        default:
            report.fail("latency", seen, do: "Commands time out: move Redis closer, or raise the deadline.")
        }
    }

    private func checkClock() async {
        let before = clock()
        guard let theirs = (try? await redis.send(RedisCommand("TIME"))).flatMap(Timestamp.init(redis:)) else { return }
        let difference = before.midpoint(to: clock()).duration(to: theirs)
        if difference.magnitude <= Limits.clockDifference {
            return report.ok("clock", "differs from Redis's by less than \(Limits.clockDifference.configurationText)")
        }
        report.warn(
            "clock", "Redis is \(difference.ahead) this machine",
            do: "Limits use Redis's clock, receipts this machine's: synchronise both (NTP).")
    }

    private func checkServer(isUsed: Bool) async -> StoreFinding {
        do throws(RedisError) {
            guard case .string(let text) = try await redis.send(RedisCommand("INFO")) else {
                return .kept(isPersistent: nil)
            }
            // A path in it may have other characters than ASCII: none that is reported does.
            let visible = text.map { $0 < 0x80 ? $0 : UInt8(ascii: "?") }
            return RedisServerInfo(String(decoding: visible, as: UTF8.self)).record(on: report, isUsed: isUsed)
        } catch {
            report.ok(
                "server",
                "version, memory and persistence were not checked: \(error.seen); the ACL rule +info allows it")
            return .kept(isPersistent: nil)
        }
    }
}

extension RedisError {
    fileprivate var isUnknownScript: Bool {
        if case .refused(let refusal) = self { refusal.kind == .noScript } else { false }
    }
}

extension Timestamp {
    /// Parses the answer to `TIME`: seconds and microseconds, as texts.
    fileprivate init?(redis reply: RedisValue) {
        guard case .array(let parts) = reply, parts.count == 2, let seconds = parts[0].number,
            (0...(1 << 40)).contains(seconds), let microseconds = parts[1].number
        else { return nil }
        self.init(millisecondsSince1970: seconds * 1000 + microseconds / 1000)
    }
}

final class ConnectionRecorder: RedisObserver {
    enum Outcome: Hashable, Sendable {
        case connected(after: Duration)
        case failed(RedisConnectionFault)
    }

    private let began = ContinuousClock.now
    private let outcomes = Mutex<[RedisConnectionRole: Outcome]>([:])

    /// Records an event. A success is final; of failures the last failure counts.
    func observe(_ event: RedisEvent) {
        switch event {
        case .connected(let role): record(.connected(after: began.duration(to: .now)), role)
        case .connectFailed(let role, let fault): record(.failed(fault), role)
        default: break
        }
    }

    subscript(role: RedisConnectionRole) -> Outcome? { outcomes.withLock { $0[role] } }

    private func record(_ outcome: Outcome, _ role: RedisConnectionRole) {
        outcomes.withLock { outcomes in
            if case .connected? = outcomes[role] { return }
            outcomes[role] = outcome
        }
    }
}

/// All commands of the gateway, on the doctor's own keys, which expire within a second. Their prefixes are the
/// gateway's, because an ACL may be limited to those. Commands used only in scripts are also sent alone: Redis does not
/// name a command it refuses within a script.
enum RedisProbes {
    /// The lifetime of all keys in milliseconds.
    private static let life: RedisWord = 1000

    static func commands(_ token: String = .randomName()) -> [RedisCommand] {
        results(RedisWord("\(SharedCacheNames.resultPrefix)doctor-\(token)"))
            + nodes(RedisWord("gw:doctor:nodes-\(token)")) + purges(RedisWord("gw:doctor:purges-\(token)"))
            + [RedisCommand("TIME")] + scripts(token) + NotificationProbes(token).commands
    }

    private static func results(_ key: RedisWord) -> [RedisCommand] {
        [
            RedisCommand("SET", key: key, "", "PX", life), RedisCommand("GET", key: key),
            RedisCommand("PTTL", key: key), RedisCommand("DEL", key: key),
        ]
    }

    private static func nodes(_ key: RedisWord) -> [RedisCommand] {
        [
            RedisCommand("ZADD", key: key, 1, "doctor"), RedisCommand("PEXPIRE", key: key, life),
            RedisCommand("ZCARD", key: key), RedisCommand("ZREMRANGEBYSCORE", key: key, 2, 3),
            RedisCommand("ZREM", key: key, "doctor"),
        ]
    }

    private static func purges(_ key: RedisWord) -> [RedisCommand] {
        [
            RedisCommand("RPUSH", key: key, "doctor"), RedisCommand("PEXPIRE", key: key, life),
            RedisCommand("LTRIM", key: key, -1, -1), RedisCommand("LLEN", key: key),
            RedisCommand("LRANGE", key: key, 0, -1),
        ]
    }

    /// Returns each script once by its hash, and one script whole, as after `SCRIPT FLUSH`.
    private static func scripts(_ token: String) -> [RedisCommand] {
        let lease = RedisWord("\(RedisFlightLeases.prefix)doctor-\(token)"), bucket = RedisWord("rl:{doctor-\(token)}")
        let node = RedisWord("gw:doctor:\(token)"), pause = RedisWord("\(RedisFleetState.pausePrefix)doctor-\(token)")
        return [
            RedisFlightLeases.acquisition.call(keys: [lease], [RedisWord(token), life, ""]),
            LeaseScripts.release.call(keys: [lease], [RedisWord(token), "", life]),
            // One token from a bucket with one token, which is full again after a millisecond.
            RedisTokenBuckets.script.call(keys: [bucket], [1, 1, 1000, 1, 0, 0, 0, 0]),
            RedisFleetState.pause.call(keys: [pause], [life, 0, "1"]),
            RedisFleetState.quotaPause.call(keys: [pause], []),
            // No announcement: it would not expire.
            RedisFleetState.lifecycle.call(
                keys: [RedisWord("\(RedisFleetState.lifecyclePrefix)doctor-\(token)")], ["", 0, life]),
            // A missing history stays missing.
            RedisPurges.restart.call(
                keys: [RedisWord("gw:{doctor-\(token)}:head"), RedisWord("gw:{doctor-\(token)}:log")], ["none", "1"]),
            NodeRegistry.beat.call(keys: [node], ["doctor", life]),
            NodeRegistry.beat.wholeCall(keys: [node], ["doctor", life]),
        ]
    }
}
