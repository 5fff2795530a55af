// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Programs that are needed together and ended together, the last one first.
actor ProgramGroup: RunningProgram {
    private var programs: [any RunningProgram] = []

    /// Takes a program in, which ends with the others.
    func add<Program: RunningProgram>(_ program: Program) -> Program {
        programs.append(program)
        return program
    }

    func stop() async {
        while let last = programs.popLast() { await last.stop() }
    }
}
