import { tlsCertificate, tlsPrivateKey } from "../key-material.ts";
import { flag, host, isHeaderText, issuer, NOT_IN_HEADER, settingsOf, text, url, whole } from "./forms.ts";

const listener = settingsOf("Listeners and addresses");

export const LISTENER_SETTINGS = {
  HOST: listener(host().default("localhost"), "Address of the HTTP listener. `localhost` listens on both loopback addresses."),
  PORT: listener(
    whole(0, 65_535, "a port").default(3000),
    "Port of the HTTP listener; 0 lets the system choose, and then JWT_ISSUER must be set.",
  ),
  GRPC_HOST: listener(host().default("127.0.0.1"), "Address of the gRPC listener."),
  GRPC_PORT: listener(whole(0, 65_535, "a port").default(3001), "Port of the gRPC listener."),
  GRPC_TLS_CERT: listener(tlsCertificate().optional(), "Certificate chain (PEM) of the gRPC listener.", {
    unset: "h2c, without TLS",
    file: true,
  }),
  GRPC_TLS_KEY: listener(tlsPrivateKey().optional(), "Private key (PEM) of GRPC_TLS_CERT.", { file: true }),
  GRPC_TLS_CLIENT_CA: listener(
    tlsCertificate().optional(),
    "Authorities (PEM) whose client certificates authenticate fronts to a core: mutual TLS. Resource servers need none.",
    { file: true },
  ),
  GRPC_TRUST_PROXY: listener(
    flag().default(false),
    "Whether X-Forwarded-For is trusted for the address of a resource server that calls over gRPC. Set it only where all of them come through a proxy that writes the header itself.",
  ),
  JWT_ISSUER: listener(
    issuer().optional(),
    "Issuer identifier, and base URL of every published address. With NODE_ENV=production it must be `https`, except for loopback hosts. A proxy passes its path on: below a path such as `/oauth` or `/auth`, one that removes it makes routes of that name unreachable.",
    {
      unset: "`http://localhost:PORT`",
    },
  ),
  TRUST_PROXY: listener(
    flag().default(false),
    "Whether X-Forwarded-* is trusted for the client's address. Set it only behind a proxy that writes these headers itself; behind one without it, all users share the limits of one address.",
  ),
};

const split = settingsOf("Front and token core as separate processes");

export const SPLIT_SETTINGS = {
  TOKEN_CORE_URL: split(
    url(["http", "https"]).optional(),
    "Address of the token core that a front uses, `http://` (h2c) or `https://`. The front balances over all addresses of its name. For `--role front` only.",
    { unset: "in this process" },
  ),
  TOKEN_CORE_SECRET: split(
    text(isHeaderText, ...NOT_IN_HEADER).optional(),
    "Secret that a front presents to a core. A core requires it, or mutual TLS, in production and wherever it listens beyond loopback. In production at least 32 characters.",
    { file: true },
  ),
  TOKEN_CORE_SECRET_PREVIOUS: split(
    text(isHeaderText, ...NOT_IN_HEADER).optional(),
    "A further secret that a core accepts, while TOKEN_CORE_SECRET is replaced. See docs/keys.md.",
    { file: true },
  ),
  TOKEN_CORE_CA: split(tlsCertificate().optional(), "Authorities (PEM) that a front trusts for the core's certificate.", {
    unset: "those of the runtime",
    file: true,
  }),
  TOKEN_CORE_TLS_CERT: split(tlsCertificate().optional(), "Certificate chain (PEM) that a front presents to a core: mutual TLS.", {
    file: true,
  }),
  TOKEN_CORE_TLS_KEY: split(tlsPrivateKey().optional(), "Private key (PEM) of TOKEN_CORE_TLS_CERT.", { file: true }),
};
