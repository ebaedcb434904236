import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { createAuthority, issueCertificate } from '../../apiserver/pki/certificates.ts';
import { image, isRunning, podWhere, startAgent, startMachine, until } from './agent-harness.ts';
import type { RunningServer } from './apiserver-harness.ts';

// An extension API server as small as one can be: it believes the front proxy's certificate alone, and tells who calls
// by its headers, as those that are made with Kubernetes' library do.

export const group = 'wardle.example.com';
export const version = 'v1alpha1';

export interface ExtensionServer {
  readonly port: number;
  /** The authority behind its certificate (PEM). */
  readonly ca: string;
  /** What came, the newest last. */
  readonly requests: readonly Received[];
  /** Of its flunders. */
  verbs: readonly string[];
  /** How it answers in place of what it would do; undefined: as it would. */
  answer: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
  close(): void;
}

export interface Received {
  readonly method: string;
  readonly url: string;
  readonly user: string;
  readonly groups: readonly string[];
  readonly headers: IncomingMessage['headers'];
  /** By which it came: the same for all requests of one. */
  readonly connection: Duplex;
}

export interface ExtensionWorld {
  readonly extension: ExtensionServer;
  /** Of the pod "wardle" in "default": with the machine's own network each port of the server is one of the pod. */
  readonly podUid: string;
  /** Ends all, the API server too. */
  stop(): Promise<void>;
}

/** An extension server that is reached through a real agent and a pod of its own. */
export async function startExtension(server: RunningServer): Promise<ExtensionWorld> {
  const machine = await startMachine();
  const agent = startAgent(server, machine, 'n1');
  await until('node', () => server.client.nodes.get({ name: 'n1' }).catch(() => undefined));
  const at = { namespace: 'kube-system', name: 'extension-apiserver-authentication' };
  const { data = {} } = await until('what extension servers read', () => server.client.configMaps.get(at).catch(() => undefined));
  const trust = {
    ca: data['requestheader-client-ca-file']!,
    names: JSON.parse(data['requestheader-allowed-names']!) as string[],
  };
  const extension = await startExtensionServer(trust, ['wardle.default.svc']);
  const metadata = { namespace: 'default', name: 'wardle' };
  const app = { name: 'app', image, command: ['sleep', '1000'] };
  await server.client.pods.create({ metadata, spec: { nodeName: 'n1', hostNetwork: true, containers: [app] } });
  const podUid = (await podWhere(server.client, 'wardle', isRunning)).metadata?.uid ?? '';
  return {
    ...{ extension, podUid },
    async stop() {
      extension.close();
      await agent.stop();
      await server.stop();
      await machine.remove();
      await server.remove();
    },
  };
}

export interface Trust {
  /** The authorities of front proxies (PEM), and the names that these may have. */
  readonly ca: string;
  readonly names: readonly string[];
}

const resources = (verbs: readonly string[]) => [
  { name: 'flunders', singularName: 'flunder', namespaced: true, kind: 'Flunder', shortNames: ['fl'], verbs },
  { name: 'flunders/status', singularName: '', namespaced: true, kind: 'Flunder', verbs: ['get'] },
];

export async function startExtensionServer(trust: Trust, hosts: readonly string[]): Promise<ExtensionServer> {
  const now = new Date();
  const authority = await createAuthority('extension-ca', now);
  const own = await issueCertificate(authority, { commonName: 'extension', organizations: [] }, hosts, now);
  const requests: Received[] = [];
  const objects = new Map<string, object>();
  const server: Server = createServer({
    // As Kubernetes' library has it.
    keepAliveTimeout: 90_000,
    ...{ cert: own.certificate, key: own.key, ca: trust.ca, requestCert: true, rejectUnauthorized: false },
  });
  const extension = {
    ca: authority.certificate,
    requests,
    verbs: ['create', 'delete', 'get', 'list', 'watch'],
    answer: undefined as ExtensionServer['answer'],
    get port() {
      return (server.address() as AddressInfo).port;
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  const sockets = new Set<Duplex>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const isFrontProxy = ({ socket }: IncomingMessage): boolean => {
    const { authorized } = socket as TLSSocket;
    return authorized && trust.names.includes(String((socket as TLSSocket).getPeerCertificate().subject.CN));
  };
  server.on('request', (request, response) => {
    if (!isFrontProxy(request)) {
      send(response, 401, { kind: 'Status', status: 'Failure', code: 401, message: 'Unauthorized' });
      return;
    }
    const { 'x-remote-user': user = '', 'x-remote-group': groups = '' } = request.headers;
    const { method = '', url = '', headers } = request;
    requests.push({ method, url, user: String(user), groups: String(groups).split(', '), headers, connection: request.socket });
    if (extension.answer) extension.answer(request, response);
    else serve(request, response, { objects, verbs: extension.verbs });
  });
  server.on('upgrade', (request, socket, head) => {
    if (!isFrontProxy(request)) {
      socket.destroy();
      return;
    }
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: echo\r\n\r\n');
    socket.write(`hello ${request.headers['x-remote-user']}\n`);
    socket.write(head);
    socket.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return extension;
}

function send(response: ServerResponse, code: number, body: object): void {
  const text = JSON.stringify(body);
  response.writeHead(code, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

const apiVersion = `${group}/${version}`;

const flunder = {
  description: 'A flunder.',
  type: 'object',
  properties: {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    spec: { description: 'What it is.', type: 'object', properties: { weight: { description: 'In grams.', type: 'integer' } } },
  },
  'x-kubernetes-group-version-kind': [{ group, version, kind: 'Flunder' }],
};
const info = { title: 'wardle', version: 'v1' };
const definition = 'com.example.wardle.v1alpha1.Flunder';
const operation = {
  ...{ operationId: 'patchFlunder', 'x-kubernetes-action': 'patch' },
  'x-kubernetes-group-version-kind': { group, version, kind: 'Flunder' },
  ...{ consumes: ['application/merge-patch+json'], produces: ['application/json'], schemes: ['https'] },
  parameters: [{ uniqueItems: true, type: 'string', description: 'None is stored.', name: 'dryRun', in: 'query' }],
  responses: { '200': { description: 'OK', schema: { $ref: `#/definitions/${definition}` } } },
};
const paths = { [`/apis/${apiVersion}/namespaces/{namespace}/flunders/{name}`]: { patch: operation } };
const documents: Readonly<Record<string, object>> = {
  '/openapi/v2': { swagger: '2.0', info, paths, definitions: { [definition]: flunder } },
  [`/openapi/v3/apis/${apiVersion}`]: { openapi: '3.0.0', info, paths: {}, components: { schemas: { [definition]: flunder } } },
};

interface Served {
  readonly objects: Map<string, object>;
  readonly verbs: readonly string[];
}

async function serve(request: IncomingMessage, response: ServerResponse, { objects, verbs }: Served): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'https://extension');
  if (pathname === `/apis/${apiVersion}`) {
    send(response, 200, { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: apiVersion, resources: resources(verbs) });
    return;
  }
  if (Object.hasOwn(documents, pathname)) {
    send(response, 200, documents[pathname]!);
    return;
  }
  const [, namespace = '', name = ''] =
    /^\/apis\/[^/]+\/[^/]+\/namespaces\/([^/]+)\/flunders(?:\/([^/]+))?$/.exec(pathname) ?? [];
  const key = `${namespace}/${name}`;
  if (request.method === 'POST') {
    let text = '';
    for await (const piece of request) text += piece;
    const object = { apiVersion, kind: 'Flunder', ...JSON.parse(text) };
    objects.set(`${namespace}/${object.metadata.name}`, object);
    send(response, 201, object);
  } else if (name !== '') {
    const object = objects.get(key);
    if (request.method === 'DELETE') objects.delete(key);
    send(response, object ? 200 : 404, object ?? { kind: 'Status', status: 'Failure', reason: 'NotFound', code: 404 });
  } else if (request.method === 'DELETE' && !verbs.includes('deletecollection')) {
    send(response, 405, { kind: 'Status', status: 'Failure', reason: 'MethodNotAllowed', code: 405 });
  } else if (request.method === 'DELETE') {
    for (const each of objects.keys()) if (each.startsWith(`${namespace}/`)) objects.delete(each);
    send(response, 200, { kind: 'Status', status: 'Success' });
  } else if (searchParams.get('watch') === 'true') {
    response.writeHead(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' });
    for (const object of objects.values()) response.write(`${JSON.stringify({ type: 'ADDED', object })}\n`);
  } else {
    const items = [...objects].filter(([each]) => namespace === '' || each.startsWith(`${namespace}/`)).map(([, each]) => each);
    send(response, 200, { apiVersion, kind: 'FlunderList', metadata: { resourceVersion: '1' }, items });
  }
}
