import { z } from "zod";
import { tlsCertificate, tlsPrivateKey } from "../key-material.ts";
import { settingsOf, url } from "./forms.ts";

const setting = settingsOf("Front and token core as separate processes");

export const SPLIT_SETTINGS = {
  TOKEN_CORE_URL: setting(
    url(["http", "https"]).optional(),
    "Address of the token core that a front uses, `http://` (h2c) or `https://`. For `--role front` only.",
    {
      unset: "in this process",
    },
  ),
  TOKEN_CORE_SECRET: setting(
    z.string().optional(),
    "Secret that a front presents to a core. A core requires it, or mutual TLS, in production and wherever it listens beyond loopback. In production at least 32 characters.",
    { file: true },
  ),
  TOKEN_CORE_CA: setting(tlsCertificate().optional(), "Authorities (PEM) that a front trusts for the core's certificate.", {
    unset: "those of the runtime",
    file: true,
  }),
  TOKEN_CORE_TLS_CERT: setting(tlsCertificate().optional(), "Certificate chain (PEM) that a front presents to a core: mutual TLS.", {
    file: true,
  }),
  TOKEN_CORE_TLS_KEY: setting(tlsPrivateKey().optional(), "Private key (PEM) of TOKEN_CORE_TLS_CERT.", { file: true }),
};
