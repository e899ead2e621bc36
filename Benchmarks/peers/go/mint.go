// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// The token server's driver route in Go: net/http and golang-jwt, nothing recorded.
// usage: mint KEY.json SECRET
package main

import (
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/golang-jwt/jwt"
)

func main() {
	file, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var account struct {
		ClientEmail  string `json:"client_email"`
		PrivateKey   string `json:"private_key"`
		PrivateKeyID string `json:"private_key_id"`
	}
	if err := json.Unmarshal(file, &account); err != nil {
		log.Fatal(err)
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(account.PrivateKey))
	if err != nil {
		log.Fatal(err)
	}
	secret := []byte("Bearer " + os.Args[2])
	http.HandleFunc("/token/driver/", func(response http.ResponseWriter, request *http.Request) {
		if subtle.ConstantTimeCompare([]byte(request.Header.Get("Authorization")), secret) != 1 {
			response.WriteHeader(http.StatusUnauthorized)
			return
		}
		issuedAt := time.Now().Unix() - 300
		token := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
			"iss": account.ClientEmail, "sub": account.ClientEmail, "aud": "https://fleetengine.googleapis.com/",
			"iat": issuedAt, "exp": issuedAt + 3600,
			"authorization": map[string]string{"vehicleid": strings.TrimPrefix(request.URL.Path, "/token/driver/")},
		})
		token.Header["kid"] = account.PrivateKeyID
		signed, err := token.SignedString(key)
		if err != nil {
			response.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		response.Header().Set("Content-Type", "application/json")
		json.NewEncoder(response).Encode(map[string]any{
			"jwt": signed, "creationTimestamp": issuedAt * 1000, "expirationTimestamp": (issuedAt + 3600) * 1000,
		})
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("ready http=http://127.0.0.1:%d\n", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, nil))
}
