// A resource server in Go that introspects over gRPC, from the .proto files alone.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	introspection "example.test/notes/gen/countersign/introspection/v1"
)

const (
	neededScope  = "notes:read"
	deadline     = 2 * time.Second
	longestToken = 16384
	wellKnown    = "/.well-known/oauth-protected-resource"
)

var (
	errUnavailable = errors.New("the authorization server gave no answer")
	bearer         = regexp.MustCompile(`^(?i:bearer) +([A-Za-z0-9\-._~+/]+=*)$`) // RFC 6750, section 2.1
)

type guard struct {
	client     introspection.IntrospectionServiceClient
	credential string
	issuer     string
	resource   string
	// Some clients write a URL without a path with a slash at its end, others without: both mean this server.
	spellings []string
	// Where the metadata document is: its path, and its whole URL (RFC 9728, section 3.1).
	metadataPath, metadataURL string
}

func newGuard(client introspection.IntrospectionServiceClient, credential, issuer, resource string) (guard, error) {
	address, err := url.Parse(resource)
	if err != nil || address.Host == "" {
		return guard{}, fmt.Errorf("RESOURCE must be the URL by which clients call this server; it is %q", resource)
	}
	path, spellings := wellKnown, []string{resource}
	if address.Path != "/" {
		path += address.Path
	}
	if strings.Trim(address.Path, "/") == "" && address.RawQuery == "" {
		root := strings.TrimRight(resource, "/")
		spellings = []string{root, root + "/"}
	}
	return guard{client, credential, issuer, resource, spellings, path, fmt.Sprintf("%s://%s%s", address.Scheme, address.Host, path)}, nil
}

// principal answers who calls, nil for a token that is not good here, or errUnavailable.
func (g guard) principal(ctx context.Context, token string) (*introspection.IntrospectResponse, error) {
	if len(token) > longestToken {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(ctx, "authorization", g.credential), deadline)
	defer cancel()
	state, err := g.client.Introspect(ctx, &introspection.IntrospectRequest{Token: token})
	if err != nil {
		// Whatever went wrong, be it our own credential: no one said that the token is bad.
		return nil, fmt.Errorf("%w: %v", errUnavailable, err)
	}
	// A token that is bound to a key is no bearer token: a copy of it is of no use without the key (RFC 9449, section 7.2).
	isForUs := func(aud string) bool { return slices.Contains(g.spellings, aud) }
	if !state.GetActive() || !slices.ContainsFunc(state.GetAud(), isForUs) || state.GetTokenType() != "Bearer" {
		return nil, nil
	}
	return state, nil
}

func (g guard) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	if request.URL.Path == g.metadataPath || request.URL.Path == wellKnown {
		answer(response, http.StatusOK, map[string]any{"resource": g.resource, "authorization_servers": []string{g.issuer}})
		return
	}
	metadata := fmt.Sprintf(`resource_metadata="%s"`, g.metadataURL)
	challenge := fmt.Sprintf(`scope="%s", %s`, neededScope, metadata)
	given := request.Header.Values("Authorization")
	request.Header.Del("Authorization")
	if len(given) == 0 || !strings.EqualFold(strings.SplitN(given[0], " ", 2)[0], "bearer") {
		response.Header().Set("WWW-Authenticate", "Bearer "+challenge)
		response.WriteHeader(http.StatusUnauthorized)
		return
	}
	credential := bearer.FindStringSubmatch(given[0])
	if credential == nil || len(given) > 1 || request.URL.Query().Has("access_token") { // RFC 6750, section 2: one way alone
		response.Header().Set("WWW-Authenticate", `Bearer error="invalid_request", `+metadata)
		answer(response, http.StatusBadRequest, map[string]any{"error": "invalid_request"})
		return
	}
	caller, err := g.principal(request.Context(), credential[1])
	switch {
	case err != nil:
		log.Print(err)
		response.Header().Set("Retry-After", "5")
		answer(response, http.StatusServiceUnavailable, map[string]any{"error": "temporarily_unavailable"})
	case caller == nil:
		response.Header().Set("WWW-Authenticate", `Bearer error="invalid_token", `+challenge)
		answer(response, http.StatusUnauthorized, map[string]any{"error": "invalid_token"})
	case !slices.Contains(strings.Fields(caller.GetScope()), neededScope):
		response.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", `+challenge)
		answer(response, http.StatusForbidden, map[string]any{"error": "insufficient_scope"})
	default:
		body := map[string]any{"sub": caller.GetSub(), "client_id": caller.GetClientId()}
		if actor := caller.GetAct(); actor != nil {
			body["actor"] = actor.GetSub() // the agent that acts for `sub` now
		}
		answer(response, http.StatusOK, body)
	}
}

func answer(response http.ResponseWriter, status int, body map[string]any) {
	response.Header().Set("Content-Type", "application/json")
	response.WriteHeader(status)
	if err := json.NewEncoder(response).Encode(body); err != nil {
		log.Print(err)
	}
}

// setting answers an environment variable, without which the program cannot run.
func setting(name string) string {
	value := os.Getenv(name)
	if value == "" {
		log.Fatalf("%s is not set; README.md lists the settings", name)
	}
	return value
}

func main() {
	transport := credentials.NewTLS(nil)
	if os.Getenv("GRPC_PLAINTEXT") == "true" { // on one machine only: the credential travels with each call
		transport = insecure.NewCredentials()
	}
	connection, err := grpc.NewClient(setting("GRPC_ADDRESS"), grpc.WithTransportCredentials(transport))
	if err != nil {
		log.Fatal(err)
	}
	pair := url.QueryEscape(setting("CLIENT_ID")) + ":" + url.QueryEscape(setting("CLIENT_SECRET"))
	credential := "Basic " + base64.StdEncoding.EncodeToString([]byte(pair))
	notes, err := newGuard(introspection.NewIntrospectionServiceClient(connection), credential, setting("ISSUER"), setting("RESOURCE"))
	if err != nil {
		log.Fatal(err)
	}
	// Without limits, clients that send nothing would hold their connections for ever.
	server := http.Server{Addr: "127.0.0.1:" + setting("PORT"), Handler: notes, ReadTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	log.Printf("listens on http://%s for %s", server.Addr, notes.resource)
	log.Fatal(server.ListenAndServe())
}
