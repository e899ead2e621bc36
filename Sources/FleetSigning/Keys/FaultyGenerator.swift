// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Tells keys of the generator whose keys can be factored (CVE-2017-15361, "ROCA").
///
/// With M the product of the first primes, its primes have the form `k·M + (65537^a mod M)`. So each of its moduli is a power
/// of 65537 modulo every small prime; a modulus of another generator is so modulo all up to 167 once in 200 million.
package enum FaultyGenerator {
    /// The odd primes up to 167, and the powers of 65537 modulo each.
    private static let primes = (3...167).filter(Self.isPrime).map { (prime: $0, powers: Self.powers(modulo: $0)) }

    private static func isPrime(_ number: Int) -> Bool { !(2..<number).contains { number % $0 == 0 } }

    private static func powers(modulo prime: Int) -> Set<Int> {
        var powers: Set<Int> = []
        var power = 1
        while powers.insert(power).inserted { power = power * 65537 % prime }
        return powers
    }

    /// Whether a modulus has the generator's form.
    ///
    /// - Parameter modulus: The modulus, big-endian.
    /// - Returns: Whether its key is not to be trusted.
    package static func made(_ modulus: some Collection<UInt8>) -> Bool {
        self.primes.allSatisfy { prime, powers in
            powers.contains(modulus.reduce(0) { ($0 << 8 | Int($1)) % prime })
        }
    }
}
