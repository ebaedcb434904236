import { badRequest } from '../../../api/errors/index.ts';

/** What a path to a proxy names: "https:web:8443" is port 8443 of "web", over TLS. */
export interface ProxyName {
  readonly scheme: 'http' | 'https';
  readonly name: string;
  /** A number, of a Service also its name; "" is the default. */
  readonly port: string;
}

/** Throws BAD_REQUEST with Kubernetes' sentence. */
export function parseProxyName(kind: 'node' | 'pod' | 'service', text: string): ProxyName {
  const parts = text.split(':');
  const [scheme, name, port] = parts.length === 3 ? parts : ['', parts[0], parts[1] ?? ''];
  if (parts.length > 3 || !name || !['', 'http', 'https'].includes(scheme!))
    throw badRequest(`invalid ${kind} request "${text.slice(0, 300)}"`);
  return { scheme: scheme === 'https' ? 'https' : 'http', name, port: port! };
}
