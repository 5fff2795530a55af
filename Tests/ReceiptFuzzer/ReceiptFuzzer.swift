// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import ReceiptFuzzTargets

/// Called once by libFuzzer before the first input. With RECEIPT_FUZZ_SEEDS set it writes the seeds into that folder.
@c
public func LLVMFuzzerInitialize(
    _ argumentCount: UnsafeMutablePointer<CInt>?,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>?
) -> CInt {
    FuzzTarget.prepare()
    if let name = ProcessInfo.processInfo.environment["RECEIPT_FUZZ_TARGET"], chosenTarget == nil {
        fatalError("there is no target \(name), but \(FuzzTarget.allCases)")
    }
    guard let folder = ProcessInfo.processInfo.environment["RECEIPT_FUZZ_SEEDS"] else { return 0 }
    do {
        for (name, input) in FuzzSeeds.all {
            try Data(input).write(to: URL(filePath: folder, directoryHint: .isDirectory).appending(path: name))
        }
    } catch {
        fatalError("cannot write seeds: \(error)")
    }
    return 0
}

/// The only target to run, if RECEIPT_FUZZ_TARGET names it.
private let chosenTarget = FuzzTarget.allCases.first {
    "\($0)" == ProcessInfo.processInfo.environment["RECEIPT_FUZZ_TARGET"]
}

/// Runs one input of libFuzzer; -1 keeps the input out of the corpus.
@c
public func LLVMFuzzerTestOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    if let chosenTarget, FuzzTarget(of: input) != chosenTarget { return -1 }
    do {
        try FuzzTarget.run(input)
    } catch {
        fatalError("\(error)")
    }
    return 0
}

/// The driver of libFuzzer; `main` in its library only calls it.
@_extern(c) private func LLVMFuzzerRunDriver(
    _ argumentCount: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ callback: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// The start of the program: the package manager uses this name in place of `main`.
@c
public func ReceiptFuzzer_main(
    _ argumentCount: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> CInt {
    var argumentCount = argumentCount, arguments = unsafe arguments
    return unsafe LLVMFuzzerRunDriver(&argumentCount, &arguments, LLVMFuzzerTestOneInput)
}
