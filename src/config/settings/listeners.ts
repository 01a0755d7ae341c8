import { tlsCertificate, tlsPrivateKey } from "../key-material.ts";
import { flag, host, issuer, settingsOf, whole } from "./forms.ts";

const setting = settingsOf("Listeners and addresses");

export const LISTENER_SETTINGS = {
  HOST: setting(host().default("localhost"), "Address of the HTTP listener. `localhost` listens on both loopback addresses."),
  PORT: setting(
    whole(0, 65_535, "a port").default(3000),
    "Port of the HTTP listener; 0 lets the system choose, and then JWT_ISSUER must be set.",
  ),
  GRPC_HOST: setting(host().default("127.0.0.1"), "Address of the gRPC listener."),
  GRPC_PORT: setting(whole(0, 65_535, "a port").default(3001), "Port of the gRPC listener."),
  GRPC_TLS_CERT: setting(tlsCertificate().optional(), "Certificate chain (PEM) of the gRPC listener.", {
    unset: "h2c, without TLS",
    file: true,
  }),
  GRPC_TLS_KEY: setting(tlsPrivateKey().optional(), "Private key (PEM) of GRPC_TLS_CERT.", { file: true }),
  GRPC_TLS_CLIENT_CA: setting(
    tlsCertificate().optional(),
    "Authorities (PEM) whose client certificates authenticate fronts to a core: mutual TLS. Resource servers need none.",
    {
      file: true,
    },
  ),
  JWT_ISSUER: setting(
    issuer().optional(),
    "Issuer identifier, and base URL of every published address. With NODE_ENV=production it must be `https`, except for loopback hosts.",
    {
      unset: "`http://localhost:PORT`",
    },
  ),
  TRUST_PROXY: setting(
    flag().default(false),
    "Whether X-Forwarded-* is trusted for the client's address. Set it only behind a proxy that writes these headers itself; behind one without it, all users share the limits of one address.",
  ),
};
