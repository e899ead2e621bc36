// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A port that a service is going to listen on, tried before anything is started.
///
/// A server that cannot listen ends the services beside it in the midst of their start, and they log that.
struct ListeningPort {
    let number: Int
    /// What names another, such as `set listen.port`.
    let setting: String

    /// Looks whether this process may listen on the ports of an address.
    ///
    /// - Parameters:
    ///   - ports: The ports.
    ///   - host: The address.
    ///   - hostSetting: What names another, such as `set listen.host`.
    /// - Throws: ``CommandFailure`` with `configuration` that names the port that is in the way.
    static func check(_ ports: [Self], of host: String, hostSetting: String) throws(CommandFailure) {
        for port in ports {
            if let problem = port.problem(of: host, hostSetting: hostSetting) {
                throw CommandFailure(status: .configuration, message: problem)
            }
        }
    }

    private func problem(of host: String, hostSetting: String) -> String? {
        guard let address = try? SocketAddress.makeAddressResolvingHost(host, port: self.number) else {
            return "there is no address of the name \(host) to listen on, port \(self.number); \(hostSetting)."
        }
        switch Self.error(binding: address) {
        case 0: return nil
        case EADDRINUSE:
            return "port \(self.number) of \(host) is in use; end the other program, or \(self.setting)."
        case EACCES:
            return "port \(self.number) of \(host) may not be listened on by this user, but those from 1024 on; "
                + "\(self.setting)."
        case EADDRNOTAVAIL:
            return "this machine has no address \(host) to listen on, port \(self.number); \(hostSetting)."
        case let code:
            return "port \(self.number) of \(host) cannot be listened on (\(String(cString: strerror(code)))); "
                + "\(self.setting), or \(hostSetting)."
        }
    }

    /// Binds a socket to an address and closes it.
    ///
    /// - Parameter address: The address with its port.
    /// - Returns: The system's error; 0 for none.
    private static func error(binding address: SocketAddress) -> Int32 {
        #if canImport(Glibc)
            let kind = Int32(SOCK_STREAM.rawValue)
        #else
            let kind = SOCK_STREAM
        #endif
        let descriptor = socket(address.protocol.rawValue, kind, 0)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        // As servers do: connections of an earlier process that linger are not in the way.
        var isOn: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
        let result = address.withSockAddr { bind(descriptor, $0, socklen_t($1)) }
        return result == 0 ? 0 : errno
    }
}
