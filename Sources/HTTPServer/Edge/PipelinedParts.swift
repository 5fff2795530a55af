// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1
internal import Settings

/// The input behind a request that is still being answered (RFC 9112 §9.3.2). Input beyond the limit becomes a failure
/// of its request.
struct PipelinedParts {
    /// A part, or the end of the decodable input.
    enum Element {
        case part(HTTPServerRequestPart)
        case failure(UnreadableRequest)
        case end
    }

    var isEmpty: Bool { elements.isEmpty }

    /// Capacity for one: most connections pipeline nothing, and capacity for sixteen requests takes five kilobytes.
    private var elements = CircularBuffer<Element>(initialCapacity: 1)
    private var bytes = 0

    mutating func append(_ element: Element, limit: ByteCount) {
        guard bytes <= limit.bytes else { return }
        bytes += element.bytes
        let excess = UnreadableRequest(refusal: .overloaded, isHead: element.isHead)
        elements.append(bytes <= limit.bytes ? element : .failure(excess))
    }

    mutating func popFirst() -> Element? {
        guard let element = elements.popFirst() else { return nil }
        bytes -= element.bytes
        return element
    }

    mutating func removeAll() {
        elements.removeAll()
        bytes = 0
    }
}

extension PipelinedParts.Element {
    fileprivate var isHead: Bool {
        if case .part(.head(let head)) = self { head.method == .HEAD } else { false }
    }

    /// The approximate memory. A header is counted as a kilobyte; it is at most as large as its limit.
    fileprivate var bytes: Int {
        switch self {
        case .part(.body(let buffer)): buffer.readableBytes
        case .part(.head): 1024
        case .part(.end), .failure, .end: 0
        }
    }
}
