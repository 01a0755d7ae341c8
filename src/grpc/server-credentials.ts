import { experimental, ServerCredentials } from "@grpc/grpc-js";

/** PEM texts. */
export interface ServerTls {
  readonly cert: string;
  readonly key: string;
  /** Authority of the certificates by which fronts may prove themselves. */
  readonly clientCa?: string | undefined;
}

/**
 * h2c without `tls`. With a client authority a certificate is asked for, not demanded: resource servers have none, and whether a call needs
 * one is judged call by call.
 */
export function serverCredentials(tls: ServerTls | undefined): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure();
  const certificate = Buffer.from(tls.cert);
  const privateKey = Buffer.from(tls.key);
  if (tls.clientCa === undefined) return ServerCredentials.createSsl(null, [{ cert_chain: certificate, private_key: privateKey }]);
  const caCertificate = Buffer.from(tls.clientCa);
  // grpc-js begins to listen to a provider before it begins to pass on what it hears: so the news comes a moment later.
  const provider = {
    addCaCertificateListener: (tell: experimental.CaCertificateUpdateListener) => queueMicrotask(() => tell({ caCertificate })),
    addIdentityCertificateListener: (tell: experimental.IdentityCertificateUpdateListener) =>
      queueMicrotask(() => tell({ certificate, privateKey })),
    removeCaCertificateListener: () => undefined,
    removeIdentityCertificateListener: () => undefined,
  };
  return experimental.createCertificateProviderServerCredentials(provider, provider, false);
}
