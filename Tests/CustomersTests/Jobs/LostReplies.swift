// SPDX-License-Identifier: Apache-2.0

import Redis
import Synchronization

/// Redis, whose replies to one script are lost after the script ran.
final class LostReplies: RedisCommands {
    private let redis: any RedisCommands
    private let names: Set<RedisWord>
    private let count = Mutex(0)

    init(_ redis: any RedisCommands, of script: RedisScript) {
        (self.redis, names) = (redis, [RedisWord(script.digest), RedisWord(script.source)])
    }

    /// The number of lost replies.
    var lost: Int { count.withLock { $0 } }

    func send(_ commands: [RedisCommand]) async -> RedisResults {
        let results = await redis.send(commands)
        return zip(commands, results).map { command, result in
            let isMeant = command.words.dropFirst().first.map(names.contains) ?? false
            guard isMeant, case .success = result else { return result }
            count.withLock { $0 += 1 }
            return .failure(.connectionLost)
        }
    }
}
