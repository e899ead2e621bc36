// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import CFleetTokenClient
import FleetTokens

extension FleetToken {
    /// The token for C to own.
    func given() -> UnsafeMutablePointer<fp_token> {
        COwned.make { memory in
            fp_token(
                text: memory.text(self.compactSerialization), length: self.compactSerialization.utf8.count,
                fingerprint: memory.text(self.fingerprint))
        }
    }
}

/// Overwrites and frees a token.
@c @implementation
public func fp_token_release(_ token: UnsafeMutablePointer<fp_token>?) {
    COwned.release(token)
}

/// Writes the fingerprint of a token.
@c @implementation
public func fp_fingerprint(_ text: UnsafePointer<CChar>?, _ fingerprint: UnsafeMutablePointer<CChar>?) -> Bool {
    guard let fingerprint, let text = try? CArgument.text(text, "text") else { return false }
    for (index, character) in FleetToken(text).fingerprint.utf8CString.enumerated() where index < FP_FINGERPRINT_SIZE {
        fingerprint[index] = character
    }
    return true
}
