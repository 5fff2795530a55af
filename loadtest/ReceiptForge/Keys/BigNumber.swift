// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// A non-negative integer of any size: the owner of one OpenSSL `BIGNUM`.
///
/// Safe because the pointer never leaves this file, numbers are immutable, and `deinit` frees the pointer exactly once.
/// An operation fails only without memory, and then stops the program.
@safe final class BigNumber {
    private let pointer: OpaquePointer

    private init(owning pointer: OpaquePointer?) {
        guard let pointer = unsafe pointer else { preconditionFailure("OpenSSL is out of memory") }
        unsafe self.pointer = pointer
    }

    /// Creates a number from its bytes, most significant first.
    convenience init(_ bytes: [UInt8]) {
        unsafe self.init(owning: BN_bin2bn(bytes, Int32(bytes.count), nil))
    }

    convenience init(_ value: UInt64) {
        self.init((0..<8).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) })
    }

    deinit {
        unsafe BN_free(pointer)
    }

    /// The bytes of the number, most significant first, without leading zeros.
    var bytes: [UInt8] {
        let bits = Int(unsafe BN_num_bits(pointer))
        var output = [UInt8](repeating: 0, count: (bits + 7) / 8)
        _ = unsafe BN_bn2bin(pointer, &output)
        return output
    }

    var isZero: Bool { unsafe BN_is_zero(pointer) == 1 }

    /// True if OpenSSL's Miller-Rabin test passes. Its random bases do not affect a prime, which always passes; a
    /// composite passes with a probability below 2⁻¹²⁸.
    var isPrime: Bool { unsafe BN_check_prime(pointer, nil, nil) == 1 }

    func adding(_ other: BigNumber) -> BigNumber {
        unsafe result { number, _ in unsafe BN_add(number, pointer, other.pointer) }
    }

    func subtracting(_ other: BigNumber) -> BigNumber {
        unsafe result { number, _ in unsafe BN_sub(number, pointer, other.pointer) }
    }

    func multiplied(by other: BigNumber) -> BigNumber {
        unsafe result { unsafe BN_mul($0, pointer, other.pointer, $1) }
    }

    func remainder(dividingBy modulus: BigNumber) -> BigNumber {
        unsafe result { unsafe BN_div(nil, $0, pointer, modulus.pointer, $1) }
    }

    /// Returns the inverse modulo `modulus`, which must be coprime to this number.
    func inverse(modulo modulus: BigNumber) -> BigNumber {
        unsafe result { unsafe BN_mod_inverse($0, pointer, modulus.pointer, $1) == nil ? 0 : 1 }
    }

    private func result(of operation: (_ result: OpaquePointer, _ context: OpaquePointer) -> Int32) -> BigNumber {
        guard let context = unsafe BN_CTX_new() else { preconditionFailure("OpenSSL is out of memory") }
        defer { unsafe BN_CTX_free(context) }
        let number = unsafe BigNumber(owning: BN_new())
        precondition(unsafe operation(number.pointer, context) == 1, "OpenSSL could not compute")
        return number
    }
}
