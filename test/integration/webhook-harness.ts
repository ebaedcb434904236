import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { createAuthority, issueCertificate } from '../../apiserver/pki/certificates.ts';

interface Answer {
  readonly allowed: boolean;
  readonly [field: string]: unknown;
}

/** What a webhook does with a request: answers the response, or the rest of it by itself. */
export type Handler = (request: JsonObject, response: ServerResponse) => Answer | undefined | Promise<Answer | undefined>;

/** An HTTPS server of webhooks by their paths. */
export interface WebhookServer {
  /** What a clientConfig says of a path. */
  at(path: string): JsonObject;
  /** Authorities that have nothing to do with it, base64. */
  readonly otherAuthorities: string;
  handle(path: string, handler: Handler): void;
  /** The AdmissionRequests of a path, in order. */
  asked(path: string): JsonObject[];
  readonly port: number;
  close(): void;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

export async function startWebhooks(): Promise<WebhookServer> {
  const now = new Date();
  const [authority, other] = await Promise.all([createAuthority('hooks', now), createAuthority('others', now)]);
  const subject = { commonName: 'webhook', organizations: [] };
  const { certificate, key } = await issueCertificate(authority, subject, ['127.0.0.1', 'hooks.default.svc'], now);
  const handlers = new Map<string, Handler>();
  const asked = new Map<string, JsonObject[]>();
  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname } = new URL(incoming.url ?? '', 'https://x');
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece as Buffer);
    const { request } = JSON.parse(Buffer.concat(pieces).toString('utf8')) as { request: JsonObject };
    asked.set(pathname, [...(asked.get(pathname) ?? []), request]);
    const said = await handlers.get(pathname)?.(request, response);
    if (said === undefined) return;
    const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: { uid: request.uid!, ...said } };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(review));
  };
  const server = createServer({ cert: certificate, key }, (incoming, response) => {
    answer(incoming, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    at: (path) => ({ url: `https://127.0.0.1:${port}${path}`, caBundle: base64(authority.certificate) }),
    otherAuthorities: base64(other.certificate),
    handle: (path, handler) => void handlers.set(path, handler),
    asked: (path) => asked.get(path) ?? [],
    port,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

export const patchOf = (operations: readonly object[]): Answer => ({
  allowed: true,
  patchType: 'JSONPatch',
  patch: base64(JSON.stringify(operations)),
});
