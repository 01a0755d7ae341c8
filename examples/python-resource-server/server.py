"""A resource server in Python that introspects over gRPC, from the .proto files alone."""

import base64
import json
import os
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote_plus, urlsplit

import grpc
from countersign.introspection.v1 import introspection_pb2, introspection_pb2_grpc

NEEDED_SCOPE = "notes:read"
DEADLINE_SECONDS = 2


def setting(name):
    """An environment variable, without which the program cannot run."""
    return os.environ.get(name) or sys.exit(f"{name} is not set; README.md lists the settings")


ISSUER = setting("ISSUER")
RESOURCE = setting("RESOURCE")
PORT = int(setting("PORT"))
PAIR = f"{quote_plus(setting('CLIENT_ID'))}:{quote_plus(setting('CLIENT_SECRET'))}"
CREDENTIAL = (("authorization", "Basic " + base64.b64encode(PAIR.encode()).decode()),)
URL = urlsplit(RESOURCE)
WELL_KNOWN = "/.well-known/oauth-protected-resource"
if not URL.netloc:
    sys.exit(f"RESOURCE must be the URL by which clients call this server; it is {RESOURCE}")
# Some clients write a URL without a path with a slash at its end, others without: both mean this server.
IS_ROOT = URL.path in ("", "/") and not URL.query
SPELLINGS = {RESOURCE.rstrip("/"), RESOURCE.rstrip("/") + "/"} if IS_ROOT else {RESOURCE}
METADATA_PATH = WELL_KNOWN + ("" if URL.path == "/" else URL.path)  # RFC 9728, section 3.1
METADATA = f'resource_metadata="{URL.scheme}://{URL.netloc}{METADATA_PATH}"'
CHALLENGE = f'scope="{NEEDED_SCOPE}", {METADATA}'
BEARER = re.compile(r"bearer +([A-Za-z0-9\-._~+/]+=*)", re.IGNORECASE)  # RFC 6750, section 2.1
LONGEST_TOKEN = 16384


def connect():
    address = setting("GRPC_ADDRESS")
    if os.environ.get("GRPC_PLAINTEXT") == "true":  # on one machine only: the credential travels with each call
        return grpc.insecure_channel(address)
    return grpc.secure_channel(address, grpc.ssl_channel_credentials())


INTROSPECTION = introspection_pb2_grpc.IntrospectionServiceStub(connect())


def principal(token):
    """Who calls, or None for a token that is not good here. Raises grpc.RpcError when no one could say."""
    if len(token) > LONGEST_TOKEN:
        return None
    request = introspection_pb2.IntrospectRequest(token=token)
    state = INTROSPECTION.Introspect(request, metadata=CREDENTIAL, timeout=DEADLINE_SECONDS)
    # A token that is bound to a key is no bearer token: a copy of it is of no use without the key (RFC 9449, section 7.2).
    is_good = state.active and state.token_type == "Bearer" and not SPELLINGS.isdisjoint(state.aud)
    return state if is_good else None


class Notes(BaseHTTPRequestHandler):
    timeout = 10  # seconds; clients that send nothing would hold their connections for ever

    def do_GET(self):
        if self.path in (METADATA_PATH, WELL_KNOWN):
            return self.answer(200, {"resource": RESOURCE, "authorization_servers": [ISSUER]})
        given = self.headers.get_all("Authorization", [])
        del self.headers["Authorization"]
        if not given or given[0].partition(" ")[0].lower() != "bearer":
            return self.answer(401, None, {"WWW-Authenticate": f"Bearer {CHALLENGE}"})
        bearer = BEARER.fullmatch(given[0].strip())
        query = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        if bearer is None or len(given) > 1 or "access_token" in query:  # RFC 6750, section 2: one way alone
            return self.answer(400, {"error": "invalid_request"}, {"WWW-Authenticate": f'Bearer error="invalid_request", {METADATA}'})
        try:
            caller = principal(bearer[1])
        except grpc.RpcError as error:
            # Whatever went wrong, be it our own credential: no one said that the token is bad.
            self.log_message("introspection: %s", error.code())
            return self.answer(503, {"error": "temporarily_unavailable"}, {"Retry-After": "5"})
        if caller is None:
            return self.refuse(401, "invalid_token")
        if NEEDED_SCOPE not in caller.scope.split():
            return self.refuse(403, "insufficient_scope")
        actor = {"actor": caller.act.sub} if caller.HasField("act") else {}  # the agent that acts for `sub` now
        return self.answer(200, {"sub": caller.sub, "client_id": caller.client_id, **actor})

    def refuse(self, status, error):
        self.answer(status, {"error": error}, {"WWW-Authenticate": f'Bearer error="{error}", {CHALLENGE}'})

    def log_request(self, code="-", size="-"):
        # The query stays out of the log: someone may have put a token there.
        path = self.path.partition("?")[0] if self.command else "-"
        self.log_message("%s %s %s", self.command or "-", path, getattr(code, "value", code))

    def log_error(self, *_):
        """Nothing: log_request tells the status, and what is said here quotes a request line that could not be read."""

    def answer(self, status, body, headers=()):
        text = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


server = ThreadingHTTPServer(("127.0.0.1", PORT), Notes)
print(f"listens on http://127.0.0.1:{PORT} for {RESOURCE}", file=sys.stderr)
server.serve_forever()
