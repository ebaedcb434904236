import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createAuthority, issueCertificate } from '../../apiserver/pki/certificates.ts';
import type { JsonObject } from '../../client/index.ts';

/** Webhooks that misbehave, each by its path; one of them answers as it should. */
export interface BadHooks {
  /** What a clientConfig says of a path. */
  at(path: string): JsonObject;
  /** The same with authorities that have not signed its certificate. */
  distrusted(path: string): JsonObject;
  close(): void;
}

const SLOW_MS = 500;
/** Many times what the server takes of an answer. */
const HUGE_PARTS = 64;
const part = Buffer.alloc(1024 * 1024, 'x');

type Behaviour = (uid: unknown, response: ServerResponse) => void;

const allow: Behaviour = (uid, response) => {
  const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: { uid, allowed: true } };
  response.setHeader('content-type', 'application/json').end(JSON.stringify(review));
};

const behaviours: Readonly<Record<string, Behaviour>> = {
  '/good': allow,
  '/slow': (uid, response) => void setTimeout(() => allow(uid, response), SLOW_MS),
  '/silent': () => {},
  '/loop': (_uid, response) => void response.writeHead(302, { location: '/loop' }).end(),
  '/huge': (_uid, response) => void writeHuge(response, HUGE_PARTS),
};

/** Writes as fast as the server reads, until it has enough. */
function writeHuge(response: ServerResponse, parts: number): void {
  if (parts === 0) response.end();
  else if (!response.destroyed) response.write(part, () => writeHuge(response, parts - 1));
}

export async function startBadHooks(): Promise<BadHooks> {
  const now = new Date();
  const [authority, other] = await Promise.all([createAuthority('hooks', now), createAuthority('others', now)]);
  const subject = { commonName: 'webhook', organizations: [] };
  const { certificate, key } = await issueCertificate(authority, subject, ['127.0.0.1'], now);
  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const pieces: Buffer[] = [];
    for await (const piece of incoming as AsyncIterable<Buffer>) pieces.push(piece);
    const { request } = JSON.parse(Buffer.concat(pieces).toString('utf8')) as { readonly request: JsonObject };
    behaviours[new URL(incoming.url ?? '', 'https://x').pathname]?.(request.uid, response);
  };
  const server = createServer({ cert: certificate, key }, (incoming, response) => {
    response.on('error', () => {});
    answer(incoming, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const config = (path: string, ca: string): JsonObject => ({
    url: `https://127.0.0.1:${port}${path}`,
    caBundle: Buffer.from(ca).toString('base64'),
  });
  return {
    at: (path) => config(path, authority.certificate),
    distrusted: (path) => config(path, other.certificate),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
