// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTestSupport
import Testing

@Suite struct KeySetCacheTests {
    /// Keys are their names; time is seconds.
    struct Driver {
        var cache = KeySetCache<Set<String>>()

        mutating func look(_ key: String, at seconds: Int, afterFetch: Bool = false) -> String {
            let (answer, starts) = self.cache.look(at: .seconds(seconds), afterFetch: afterFetch) { $0.contains(key) }
            let name =
                switch answer {
                case .keys: "keys"
                case .wait: "wait"
                case .unknownKey: "unknown"
                case .unavailable: "unavailable"
                }
            return starts ? name + " and fetch" : name
        }

        mutating func fetched(_ keys: Set<String>, maximumAge: Int? = nil, at seconds: Int, share: Double = 0.8) {
            self.cache.fetched(
                keys, maximumAge: maximumAge.map { .seconds($0) }, at: .seconds(seconds), renewingAfter: share)
        }

        mutating func failed(at seconds: Int) { self.cache.fetchFailed(at: .seconds(seconds)) }
    }

    @Test func `the first caller fetches and the others wait for the same fetch`() {
        var driver = Driver()
        #expect(driver.look("a", at: 0) == "wait and fetch")
        #expect(driver.look("a", at: 0) == "wait")
        #expect(driver.look("b", at: 1) == "wait")
        driver.fetched(["a"], at: 2)
        #expect(driver.look("a", at: 2, afterFetch: true) == "keys")
        #expect(driver.look("b", at: 2, afterFetch: true) == "unknown")
    }

    @Test(arguments: [
        (nil, 3600), (0, 300), (10, 300), (300, 300), (1000, 1000), (86400, 86400), (1_000_000, 86400),
    ])
    func `a set is used for its max-age, between five minutes and a day`(maximumAge: Int?, age: Int) {
        var driver = Driver()
        _ = driver.look("a", at: 0)
        driver.fetched(["a"], maximumAge: maximumAge, at: 100, share: 0.9)
        #expect(driver.look("a", at: 100 + age * 9 / 10 - 1) == "keys")
        var expired = driver
        #expect(expired.look("a", at: 100 + age) == "wait and fetch")
        #expect(driver.look("a", at: 100 + age - 1) == "keys and fetch")
    }

    @Test func `a set is renewed early, once, while it goes on being used`() {
        var driver = Driver()
        _ = driver.look("a", at: 0)
        driver.fetched(["a"], maximumAge: 1000, at: 0, share: 0.7)
        #expect(driver.look("a", at: 699) == "keys")
        #expect(driver.look("a", at: 700) == "keys and fetch")
        #expect(driver.look("a", at: 701) == "keys")
        driver.fetched(["a"], maximumAge: 1000, at: 702, share: 0.9)
        #expect(driver.look("a", at: 1601) == "keys")
        #expect(driver.look("a", at: 1602) == "keys and fetch")
    }

    @Test func `unknown keys make for one fetch in thirty seconds, and are refused at once otherwise`() {
        var driver = Driver()
        _ = driver.look("a", at: 0)
        driver.fetched(["a"], at: 0)
        #expect(driver.look("x", at: 10) == "wait and fetch")
        #expect(driver.look("y", at: 10) == "wait")
        #expect(driver.look("a", at: 10) == "keys", "who is known does not wait")
        driver.fetched(["a"], at: 11)
        #expect(driver.look("x", at: 11, afterFetch: true) == "unknown")
        #expect((11..<40).allSatisfy { driver.look("z\($0)", at: $0) == "unknown" })
        #expect(driver.look("x", at: 40) == "wait and fetch")
        driver.fetched(["a", "x"], at: 41)
        #expect(driver.look("x", at: 41, afterFetch: true) == "keys")
    }

    @Test func `the old set is kept while fetches fail, for a day past its end`() {
        var driver = Driver()
        _ = driver.look("a", at: 0)
        driver.fetched(["a"], maximumAge: 300, at: 0, share: 0.8)
        #expect(driver.look("a", at: 240) == "keys and fetch")
        driver.failed(at: 241)
        #expect(driver.look("a", at: 241) == "keys", "a failure is not repeated at once")
        #expect(driver.look("a", at: 301) == "keys and fetch")
        driver.failed(at: 302)
        #expect(driver.look("a", at: 86699) == "keys and fetch")
        driver.failed(at: 86699)
        #expect(driver.look("a", at: 86700) == "unavailable")
        #expect(driver.look("a", at: 86800) == "wait and fetch")
        driver.fetched(["a"], at: 86801)
        #expect(driver.look("a", at: 86801, afterFetch: true) == "keys")
    }

    @Test func `a set tells its age, and for how long it is used past its end`() {
        var driver = Driver()
        _ = driver.look("a", at: 0)
        #expect(driver.cache.age(at: .seconds(5)) == nil && driver.cache.overrun(at: .seconds(5)) == nil)
        driver.fetched(["a"], maximumAge: 300, at: 10)
        #expect(driver.cache.age(at: .seconds(30)) == .seconds(20))
        #expect(driver.cache.overrun(at: .seconds(400)) == nil, "nobody has tried to renew it")
        driver.failed(at: 250)
        #expect(driver.cache.overrun(at: .seconds(309)) == nil)
        #expect(driver.cache.overrun(at: .seconds(400)) == .seconds(90))
        driver.fetched(["a"], maximumAge: 300, at: 410)
        #expect(driver.cache.overrun(at: .seconds(410)) == nil)
    }

    @Test func `past its end a set is not used before a fetch was tried`() {
        var driver = Driver()
        _ = driver.look("a", at: 0)
        driver.fetched(["a"], maximumAge: 300, at: 0)
        #expect(driver.look("a", at: 300) == "wait and fetch")
        #expect(driver.look("a", at: 301) == "wait")
        driver.failed(at: 302)
        #expect(driver.look("a", at: 302, afterFetch: true) == "keys")
    }

    @Test func `while fetches fail nobody is told that a key does not exist`() {
        var driver = Driver()
        _ = driver.look("a", at: 0)
        driver.fetched(["a"], at: 0)
        #expect(driver.look("new", at: 5) == "wait and fetch")
        driver.failed(at: 6)
        #expect(driver.look("new", at: 6, afterFetch: true) == "unavailable")
        #expect(driver.look("new", at: 6) == "unavailable")
        #expect((7..<35).allSatisfy { driver.look("new\($0)", at: $0) == "unavailable" }, "others fetch no oftener")
        #expect(driver.look("new", at: 35) == "unavailable and fetch")
        driver.failed(at: 36)
        #expect((36..<65).allSatisfy { driver.look("new", at: $0) == "unavailable" })
        #expect(driver.look("new", at: 65) == "unavailable and fetch")
        driver.fetched(["a", "new"], at: 66)
        #expect(driver.look("new", at: 66) == "keys")
        // Once a fetch succeeds, it is told again.
        #expect(driver.look("other", at: 94) == "unknown")
        #expect(driver.look("other", at: 95) == "wait and fetch")
    }

    @Test func `the wait after failures doubles up to a minute, and no state is final`() {
        var driver = Driver()
        var waits: [Int] = []
        var time = 0
        #expect(driver.look("a", at: time) == "wait and fetch")
        for _ in 0..<9 {
            driver.failed(at: time)
            let start = time
            while driver.look("a", at: time) == "unavailable" { time += 1 }
            waits.append(time - start)
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60, 60])
        driver.fetched(["a"], at: time)
        #expect(driver.look("a", at: time) == "keys")
    }

    /// Whatever happens in whatever order: one fetch at a time, one in 30 s for unknown keys, and a success makes all well.
    @Test(arguments: 0..<200 as Range<UInt64>)
    func `every order of events keeps the rules`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var driver = Driver()
        var time = 0
        var isFetching = false
        var end = 0
        var unknownFetches: [Int] = []
        for _ in 0..<300 {
            time += Int(random.next() % (random.next() % 8 == 0 ? 90_000 : 20))
            switch random.next() % 6 {
            case 0 where isFetching:
                let age = Int(random.next() % 100_000)
                driver.fetched(["a"], maximumAge: age, at: time)
                end = time + min(max(age, 300), 86_400)
                isFetching = false
                #expect(driver.look("a", at: time) == "keys")
            case 1 where isFetching:
                driver.failed(at: time)
                isFetching = false
            default:
                let key = random.next() % 2 == 0 ? "a" : "x"
                let answer = driver.look(key, at: time)
                if answer.hasSuffix("and fetch") {
                    #expect(!isFetching, "a second fetch beside the first")
                    isFetching = true
                    // Past its end a set is fetched for whoever asks.
                    if key == "x", time < end { unknownFetches.append(time) }
                }
                if key == "x" { #expect(!answer.hasPrefix("keys")) }
                if answer.hasPrefix("wait") { #expect(isFetching, "nobody would end the wait") }
            }
        }
        #expect(zip(unknownFetches, unknownFetches.dropFirst()).allSatisfy { $1 - $0 >= 30 })
    }
}
