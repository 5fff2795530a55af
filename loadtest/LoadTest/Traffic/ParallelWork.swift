// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

extension Array where Element: Sendable {
    /// Makes elements on all cores, in their order.
    ///
    /// - Parameters:
    ///   - progress: receives the number of elements made so far, from time to time.
    ///   - make: returns the element with this number, counted from 0.
    static func madeInParallel(
        _ count: Int, progress: (Int) -> Void, _ make: @escaping @Sendable (Int) -> Element
    ) async -> [Element] {
        var all: [Element] = []
        all.reserveCapacity(count)
        // A few chunks at a time: progress waits for the same threads as the work.
        let batch = ParallelChunk.length * ProcessInfo.processInfo.activeProcessorCount
        for start in stride(from: 0, to: count, by: batch) {
            let end = Swift.min(count, start + batch)
            all += await ofChunks(ParallelChunk.chunks(of: start..<end), make)
            progress(all.count)
        }
        return all
    }

    private static func ofChunks(
        _ chunks: [Range<Int>], _ make: @escaping @Sendable (Int) -> Element
    ) async -> [Element] {
        await withTaskGroup { group in
            for (index, chunk) in chunks.enumerated() { group.addTask { (index, chunk.map(make)) } }
            var made = chunks.map { _ in [Element]() }
            for await (index, elements) in group { made[index] = elements }
            return made.flatMap(\.self)
        }
    }
}

private enum ParallelChunk {
    /// Work for a few hundredths of a second.
    static let length = 32

    static func chunks(of range: Range<Int>) -> [Range<Int>] {
        stride(from: range.lowerBound, to: range.upperBound, by: length).map {
            $0..<min(range.upperBound, $0 + length)
        }
    }
}
