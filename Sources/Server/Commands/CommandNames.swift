// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Clients

extension ReceiptGateway {
    /// Runs the command that the arguments name. Without this check a misspelt command would be an argument of `serve`.
    static func main() async {
        // Swift reads them from /proc. Without them every command would be `serve`.
        guard !CommandLine.arguments.isEmpty else {
            CLibrary.end(withStatus: 1, "receipt-gateway: the arguments cannot be read; mount /proc")
        }
        if let fault = commandFault(in: Array(CommandLine.arguments.dropFirst())) {
            exit(withError: ValidationError(fault))
        }
        await main(nil)
    }

    /// Returns the fault of arguments that name no command, and the command that may be meant; nil if there is none.
    static func commandFault(in arguments: [String]) -> String? {
        var command: any ParsableCommand.Type = Self.self
        var path = [configuration.commandName ?? ""]
        for argument in arguments.drop(while: { $0 == "help" }) {
            let commands = command.configuration.subcommands
            guard !commands.isEmpty, !argument.hasPrefix("-") else { return nil }
            guard let named = commands.first(where: { $0.configuration.commandName == argument }) else {
                return fault(of: argument, among: commands.compactMap { $0.configuration.commandName }, path)
            }
            command = named
            path.append(argument)
        }
        return nil
    }

    private static func fault(of argument: String, among names: [String], _ path: [String]) -> String {
        let program = path.joined(separator: " "), shown = argument.printable()
        if path.count == 1, argument.contains("/") || argument.contains(".") {
            return "\(shown) is no command; to run the gateway with this file: \(program) serve --config \(shown)"
        }
        let hint = NearestName.of(argument, among: names).map { "did you mean `\(program) \($0)`?" }
        return "\(shown) is no command; " + (hint ?? "the commands are \(names.joined(separator: ", "))")
    }
}
