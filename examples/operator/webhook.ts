// Judges Websites before they are stored: those of a namespace may have 20 replicas together. A rule of the definition
// and an admission policy see one object; a webhook may look at others. It sees what is stored: of two Websites that
// come at the same moment both may pass.
import { once } from 'node:events';
import { realpathSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type ApiObject, type Client, connect, createInformer, defineKind, loadContext } from 'berth';

interface Website extends ApiObject {
  readonly spec: { readonly replicas: number };
}

/** Of the request of an AdmissionReview (admission.k8s.io/v1) what is looked at. */
interface AdmissionRequest {
  readonly uid: string;
  readonly namespace: string;
  readonly object: Website;
  readonly oldObject?: Website | null;
}

const websites = defineKind<Website>({ apiVersion: 'example.com/v1', kind: 'Website', plural: 'websites' });
const mostReplicas = 20;
/** Of a review: two objects of the largest size, and what is around them. */
const mostBytes = 4 * 1024 * 1024;

/** Why a Website is refused, or undefined. Pure. */
function refusal({ namespace, object, oldObject }: AdmissionRequest, known: readonly Website[]): string | undefined {
  const { metadata, spec } = object;
  // What takes nothing more passes, so that a namespace that has too much can be mended and emptied.
  if (metadata?.deletionTimestamp || spec.replicas <= (oldObject?.spec.replicas ?? 0)) return undefined;
  const others = known.filter((site) => site.metadata?.namespace === namespace && site.metadata.name !== metadata?.name);
  const sum = others.reduce((replicas, site) => replicas + site.spec.replicas, spec.replicas);
  if (sum <= mostReplicas) return undefined;
  return `the Websites of namespace "${namespace}" would have ${sum} replicas, ${mostReplicas} are allowed`;
}

async function readReview(incoming: IncomingMessage): Promise<AdmissionRequest> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of incoming as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > mostBytes) throw new Error(`a review has at most ${mostBytes} bytes`);
    pieces.push(piece);
  }
  return (JSON.parse(Buffer.concat(pieces).toString('utf8')) as { request: AdmissionRequest }).request;
}

/** Answers on 127.0.0.1 once it knows the Websites, until `signal` aborts. Key and certificate are PEM. */
export async function startWebhook(
  client: Client,
  { key, certificate, port }: { readonly key: string; readonly certificate: string; readonly port: number },
  signal: AbortSignal,
): Promise<Server> {
  const sites = createInformer({ name: 'websites', client: client.resource(websites) });
  void sites.run(signal);
  await sites.waitForSync(signal);
  const server = createServer({ key, cert: certificate }, async (incoming, response) => {
    try {
      const request = await readReview(incoming);
      const message = refusal(request, sites.lister.list());
      const answer = { uid: request.uid, allowed: !message, ...(message && { status: { code: 403, message } }) };
      const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: answer };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(review));
    } catch (error) {
      response.writeHead(400).end(`not an AdmissionReview: ${error instanceof Error ? error.message : error}\n`);
    }
  });
  signal.addEventListener('abort', () => {
    server.close();
    server.closeAllConnections();
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

// True when node was started with this file, by whichever path, and false when a test imports it.
if (realpathSync(process.argv[1] ?? '') === import.meta.filename) {
  const [certificateFile, keyFile] = process.argv.slice(2);
  if (!certificateFile || !keyFile) throw new Error('usage: node webhook.js CERTIFICATE KEY');
  const [certificate, key] = await Promise.all([readFile(certificateFile, 'utf8'), readFile(keyFile, 'utf8')]);
  const stop = new AbortController();
  const client = connect({ ...(await loadContext()).options, userAgent: 'website-webhook' });
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());
  stop.signal.addEventListener('abort', () => client.close());
  await startWebhook(client, { certificate, key, port: 9443 }, stop.signal);
}
