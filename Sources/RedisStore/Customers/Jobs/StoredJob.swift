// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import Receipts
internal import Redis

/// The reason why a stored job cannot be read.
enum StoredJobFault: Error {
    /// Another node can: it has the key, or the newer version.
    case foreign
    /// No node can.
    case unreadable
}

/// The fields of a job in Redis, as `JobScripts.Fields` names them.
struct StoredJob {
    let id: String
    let status: JobStatus
    private let attempts: Int
    private let nextAttempt: Timestamp?
    private let head: [UInt8]
    private let answer: [UInt8]
    /// Of a taken job only.
    let losses: Int
    private let request: [UInt8]?

    /// Returns nil if there is no such job.
    init?(_ id: String, _ values: some Collection<RedisValue>) {
        let values = Array(values)
        guard values.count >= JobScripts.Fields.described.count,
            let status = values[0].text.flatMap({ JobStatus(rawValue: $0) })
        else { return nil }
        (self.id, self.status) = (id, status)
        attempts = Int(clamping: values[1].number ?? 0)
        nextAttempt = values[2].number.map { Timestamp(millisecondsSince1970: $0) }
        (head, answer) = (values[3].bytes ?? [], values[4].bytes ?? [])
        let isTaken = values.count == JobScripts.Fields.taken.count
        losses = isTaken ? Int(clamping: values[5].number ?? 0) : 0
        request = isTaken ? values[6].bytes : nil
    }

    /// Returns the job without its request.
    func job(_ seal: JobSeal) throws(StoredJobFault) -> VerificationJob {
        let head = try seal.open(head, for: JobSealName.head(id), JobConstants.init(storedBytes:))
        let result = try seal.open(answer, for: JobSealName.answer(id, status), JobResult.init(storedBytes:))
        return VerificationJob(
            id: id, client: head.client, createdAt: head.createdAt, deadline: head.deadline, lane: head.lane,
            request: nil, status: status, attempts: attempts, nextAttempt: status == .waiting ? nextAttempt : nil,
            result: result)
    }

    /// Returns the request; nil if no node can read it.
    func request(_ seal: JobSeal) throws(StoredJobFault) -> JobRequest? {
        do throws(StoredJobFault) {
            return try seal.open(request ?? [], for: JobSealName.request(id), JobRequest.init(storedBytes:))
        } catch .unreadable {
            return nil
        }
    }
}

/// Encrypts and decrypts the texts of jobs.
struct JobSeal: Sendable {
    let seal: StoreSeal
    let observe: @Sendable (SharedCacheFault) -> Void

    func seal(_ value: [UInt8], for name: String) -> RedisWord { RedisWord(seal.seal(value, for: name)) }

    func open<Value>(
        _ sealed: [UInt8], for name: String, _ decode: ([UInt8]) throws(StoredFormFault) -> Value
    ) throws(StoredJobFault) -> Value {
        let bytes: [UInt8]
        do throws(SharedCacheFault) {
            bytes = try seal.open(sealed, for: name)
        } catch {
            observe(error)
            throw error == .sealUnknownKey ? .foreign : .unreadable
        }
        do throws(StoredFormFault) {
            return try decode(bytes)
        } catch .unknownVersion {
            throw .foreign
        } catch {
            throw .unreadable
        }
    }
}
