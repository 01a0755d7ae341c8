import { tlsCertificate, tlsPrivateKey } from "../key-material.ts";
import { describedIn, flag, host, issuer, whole } from "./forms.ts";

const meta = describedIn("Listeners and addresses");

export const LISTENER_SETTINGS = {
  HOST: host().default("localhost").meta(meta("Address of the HTTP listener. `localhost` listens on both loopback addresses.")),
  PORT: whole(0, 65_535, "a port")
    .default(3000)
    .meta(meta("Port of the HTTP listener; 0 lets the system choose, and then JWT_ISSUER must be set.")),
  GRPC_HOST: host().default("127.0.0.1").meta(meta("Address of the gRPC listener.")),
  GRPC_PORT: whole(0, 65_535, "a port").default(3001).meta(meta("Port of the gRPC listener.")),
  GRPC_TLS_CERT: tlsCertificate()
    .optional()
    .meta(meta("Certificate chain (PEM) of the gRPC listener.", { unset: "h2c, without TLS", file: true })),
  GRPC_TLS_KEY: tlsPrivateKey()
    .optional()
    .meta(meta("Private key (PEM) of GRPC_TLS_CERT.", { file: true })),
  GRPC_TLS_CLIENT_CA: tlsCertificate()
    .optional()
    .meta(
      meta("Authorities (PEM) whose client certificates authenticate fronts to a core: mutual TLS. Resource servers need none.", {
        file: true,
      }),
    ),
  JWT_ISSUER: issuer()
    .optional()
    .meta(
      meta(
        "Issuer identifier, and base URL of every published address. With NODE_ENV=production it must be `https`, except for loopback hosts.",
        {
          unset: "`http://localhost:PORT`",
        },
      ),
    ),
  TRUST_PROXY: flag()
    .default(false)
    .meta(
      meta(
        "Whether X-Forwarded-* is trusted for the client's address. Set it only behind a proxy that writes these headers itself; behind one without it, all users share the limits of one address.",
      ),
    ),
};
