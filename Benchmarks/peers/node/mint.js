// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// The token server's driver route in Node: one process, http and crypto.sign, nothing recorded.
// usage: node mint.js KEY.json SECRET
const crypto = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');

const account = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const secret = Buffer.from(`Bearer ${process.argv[3]}`);
const key = crypto.createPrivateKey(account.private_key);
const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
const header = encode({ alg: 'RS256', typ: 'JWT', kid: account.private_key_id });

function mint(vehicle) {
  const issuedAt = Math.floor(Date.now() / 1000) - 300;
  const payload = encode({
    iss: account.client_email, sub: account.client_email, aud: 'https://fleetengine.googleapis.com/',
    iat: issuedAt, exp: issuedAt + 3600, authorization: { vehicleid: vehicle },
  });
  const signature = crypto.sign('sha256', Buffer.from(`${header}.${payload}`), key).toString('base64url');
  return { jwt: `${header}.${payload}.${signature}`, creationTimestamp: issuedAt * 1000, expirationTimestamp: (issuedAt + 3600) * 1000 };
}

const server = http.createServer((request, response) => {
  const given = Buffer.from(request.headers.authorization ?? '');
  if (given.length !== secret.length || !crypto.timingSafeEqual(given, secret)) {
    response.writeHead(401).end();
    return;
  }
  const body = JSON.stringify(mint(decodeURIComponent(request.url.split('/').at(-1))));
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body);
});
server.listen(0, '127.0.0.1', () => console.log(`ready http=http://127.0.0.1:${server.address().port}`));
