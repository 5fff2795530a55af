// SPDX-License-Identifier: Apache-2.0

internal import HTTPServer
internal import Synchronization

/// The requests that wait for events, and the streams, on this node. They hold no concurrency slot of their client:
/// verifications need those.
final class WaitingReaders: Sendable {
    enum Limits {
        static let perClient = 32
        static let total = 512
        /// The seconds that a request may wait.
        static let seconds = 60
    }

    private let counts = Mutex<[String: Int]>([:])

    var total: Int { counts.withLock { $0.values.reduce(0, +) } }

    func acquire(_ client: String) throws(Problem) -> WaitingReader {
        let problem: Problem? = counts.withLock { counts in
            guard counts[client, default: 0] < Limits.perClient else { return .tooManyReadersOfClient }
            guard counts.values.reduce(0, +) < Limits.total else { return .tooManyReaders }
            counts[client, default: 0] += 1
            return nil
        }
        if let problem { throw problem }
        return WaitingReader(of: client, among: self)
    }

    fileprivate func release(_ client: String) {
        counts.withLock { counts in
            let left = (counts[client] ?? 0) - 1
            counts[client] = left > 0 ? left : nil
        }
    }
}

/// The slot of one waiting request or stream. It is released with the last reference: the end of a stream has no other
/// event.
final class WaitingReader: Sendable {
    private let client: String
    private let readers: WaitingReaders

    fileprivate init(of client: String, among readers: WaitingReaders) {
        (self.client, self.readers) = (client, readers)
    }

    deinit { readers.release(client) }
}
