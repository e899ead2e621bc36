// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import CFleetTokenClient
import FleetTokenClient
import Foundation

/// One request that the app sends.
final class HTTPExchange: CHandle, Sendable {
    /// The server's answer to come.
    let answer = PendingAnswer<HTTPTransportResponse>()
    // Never written after `init`; freed with the exchange, which C keeps until it has answered.
    nonisolated(unsafe) let request: UnsafeMutablePointer<fp_http_request>

    /// Lays out a request for C.
    init(_ request: HTTPTransportRequest) {
        self.request = COwned.make { memory in
            let headers = request.headers.map { fp_header(name: memory.text($0.name), value: memory.text($0.value)) }
            return fp_http_request(
                method: memory.text(request.method), url: memory.text(request.url.absoluteString),
                headers: memory.array(headers), header_count: headers.count,
                body: request.body.flatMap { memory.array($0) }, body_length: request.body?.count ?? 0,
                timeout_ms: request.timeout.wholeMilliseconds)
        }
    }

    deinit {
        COwned.release(self.request)
    }
}

/// What to send.
@c @implementation
public func fp_http_exchange_request(_ exchange: OpaquePointer?) -> UnsafePointer<fp_http_request>? {
    HTTPExchange.borrowed(exchange).map { UnsafePointer($0.request) }
}

/// Passes on the server's answer.
@c @implementation
public func fp_http_exchange_respond(
    _ exchange: OpaquePointer?, _ status: Int32, _ headers: UnsafePointer<fp_header>?, _ headerCount: Int,
    _ body: UnsafePointer<UInt8>?, _ bodyLength: Int
) {
    guard let exchange = HTTPExchange.taken(exchange) else { return }
    do {
        guard bodyLength == 0 || body != nil else {
            throw CFailure.invalidArgument("body is NULL, but its length is not 0.")
        }
        let isTooLong = !(0...TokenEndpoint.maximumAnswerBytes).contains(bodyLength)
        guard !isTooLong || status != 200 else {
            throw TokenClientError(
                code: .invalidAnswer, message: "The token server's answer is longer than 64 KiB.",
                httpStatus: Int(status))
        }
        // Of any other answer, the status and the header fields tell what to do.
        let response = HTTPTransportResponse(
            status: Int(status), headers: try CArgument.readableHeaders(headers, headerCount),
            body: isTooLong ? Data() : Data(UnsafeBufferPointer(start: body, count: bodyLength)))
        exchange.answer.end(with: .success(response))
    } catch let failure as CFailure {
        let message = "The app's HTTP client gave an answer that cannot be read. \(failure.message)"
        exchange.answer.end(
            with: .failure(TokenClientError(code: .invalidAnswer, message: message, cause: failure)))
    } catch {
        exchange.answer.end(with: .failure(error))
    }
}

/// Says that there is no answer.
@c @implementation
public func fp_http_exchange_fail(_ exchange: OpaquePointer?, _ code: fp_error_code) {
    guard let exchange = HTTPExchange.taken(exchange) else { return }
    let error =
        Int(code) == FP_ERROR_TIMED_OUT
        ? TokenClientError(code: .timedOut, message: "The token server did not answer the app's HTTP client in time.")
        : TokenClientError(code: .unreachable, message: "The app's HTTP client could not reach the token server.")
    exchange.answer.end(with: .failure(error))
}
