import { type RequestOptions, request } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import { startTimeout } from '../../api/meta/timeout.ts';
import type { Identity } from '../authn/identity.ts';
import { type ProxyDeps, type ProxyTarget, serviceTarget } from '../http/proxy/proxy-target.ts';
import type { FrontProxy } from '../pki/front-proxy.ts';
import { overTls } from '../tunnel/over-tls.ts';
import { requireAnswer } from '../tunnel/require-answer.ts';
import type { TunnelCaller } from '../tunnel/tunnels.ts';
import type { RemoteGroup } from './remote-groups.ts';
import { remoteUserHeaders } from './remote-user.ts';

export interface ExtensionDeps extends ProxyDeps {
  readonly frontProxy: Pick<FrontProxy, 'pair'>;
}

/** The name that its certificate has to be for. */
export const extensionHost = ({ spec: { service } }: RemoteGroup): string => `${service.name}.${service.namespace}.svc`;

/** One of the endpoints of its Service. Throws NOT_FOUND and UNAVAILABLE. */
export function extensionTarget(remote: RemoteGroup, deps: ExtensionDeps): Promise<ProxyTarget> {
  const { namespace = '', name = '', port } = remote.spec.service;
  return serviceTarget(deps, namespace, { scheme: 'https', name, port: String(port ?? 443) });
}

/** How its certificate is checked, and the one that it is shown. */
export function extensionTls(remote: RemoteGroup, { frontProxy }: Pick<ExtensionDeps, 'frontProxy'>): ConnectionOptions {
  const { caBundle, insecureSkipTLSVerify } = remote.spec;
  const ca = Buffer.from(caBundle ?? []);
  const { certificate: cert, key } = frontProxy.pair;
  return {
    ...{ servername: extensionHost(remote), minVersion: 'TLSv1.2', cert, key },
    ...(ca.toString('latin1').trim() !== '' && { ca }),
    ...(insecureSkipTLSVerify && { rejectUnauthorized: false }),
  };
}

/** The server as it asks for itself. */
const aggregator: Identity = { user: 'system:kube-aggregator', groups: ['system:masters'] };

/** The server's own streams to extension servers, which it bounds itself. */
export const extensionFlow = { level: 'control', key: 'aggregation', name: 'the extension servers', isExempt: true } as const;

export interface ExtensionQuestion {
  /** GET, unless something else is said. */
  readonly method?: string;
  readonly path: string;
  readonly accept: string;
  /** For all of it. */
  readonly withinMs: number;
  readonly mostBytes: number;
}

export interface ExtensionAnswer {
  readonly code: number;
  readonly body: Buffer;
}

/** What an extension server answers this server itself. Throws where it is not reached, too slow, or says too much. */
export async function askExtension(
  remote: RemoteGroup,
  { method = 'GET', path, accept, withinMs, mostBytes }: ExtensionQuestion,
  deps: ExtensionDeps,
  { flow, signal }: TunnelCaller,
): Promise<ExtensionAnswer> {
  const late = startTimeout(withinMs);
  const ended = AbortSignal.any([signal, late.signal]);
  const opened: Duplex[] = [];
  try {
    const target = await extensionTarget(remote, deps);
    const socket = await target.dial({ flow, signal: ended });
    opened.push(socket);
    const secure = overTls(socket, extensionTls(remote, deps));
    opened.push(secure);
    const headers = { host: extensionHost(remote), accept, ...remoteUserHeaders(aggregator) };
    return await read({ method, path, headers, createConnection: () => secure, signal: ended }, mostBytes);
  } catch (error) {
    if (!signal.aborted && late.signal.aborted) throw new Error(`no answer within ${withinMs / 1_000} s`);
    throw error;
  } finally {
    late.clear();
    for (const each of opened) each.destroy();
  }
}

function read(options: RequestOptions, mostBytes: number): Promise<ExtensionAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request(options, (message) => {
      const pieces: Buffer[] = [];
      let bytes = 0;
      message.on('error', reject);
      message.on('data', (piece: Buffer) => {
        bytes += piece.length;
        pieces.push(piece);
        if (bytes > mostBytes) sent.destroy(new Error(`the answer has more than ${mostBytes} bytes`));
      });
      message.on('end', () => resolve({ code: message.statusCode ?? 0, body: Buffer.concat(pieces) }));
      message.on('close', () => reject(new Error('the answer was cut off')));
    });
    sent.on('error', reject);
    requireAnswer(sent, reject);
    sent.end();
  });
}
