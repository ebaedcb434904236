import { badRequest } from '../../api/errors/index.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { parsePairs } from './pairs.ts';

// What `create ingress` makes, in JSON form.

export interface IngressFlags {
  readonly rule?: readonly string[];
  readonly class?: string;
  readonly defaultBackend?: string;
  readonly annotation?: readonly string[];
}

/** A rule: "HOST/PATH=SERVICE:PORT", with ",tls" or ",tls=SECRET" behind it. */
interface Rule {
  readonly host: string;
  readonly path: JsonObject;
  /** Absent: no TLS. Empty: with the certificate of the ingress controller. */
  readonly secret: string | undefined;
}

export function ingressObject(name: string, flags: IngressFlags): JsonObject {
  const { rule = [], class: ingressClassName, defaultBackend, annotation = [] } = flags;
  if (rule.length === 0 && !defaultBackend)
    throw badRequest('say what it leads to: --rule HOST/PATH=SERVICE:PORT, or --default-backend SERVICE:PORT for all requests');
  const rules = rule.map(readRule);
  const annotations = Object.fromEntries(parsePairs('--annotation', annotation));
  const tls = tlsOf(rules);
  const hosts = new Map<string, JsonObject[]>();
  for (const { host, path } of rules) hosts.set(host, [...(hosts.get(host) ?? []), path]);
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name, ...(annotation.length > 0 && { annotations }) },
    spec: {
      ...(ingressClassName && { ingressClassName }),
      ...(defaultBackend && { defaultBackend: readBackend(defaultBackend, '--default-backend') }),
      ...(tls.length > 0 && { tls }),
      ...(rules.length > 0 && {
        rules: [...hosts].map(([host, paths]) => ({ ...(host && { host }), http: { paths } })),
      }),
    },
  };
}

function readRule(text: string): Rule {
  const [, host = '', path = '', service = '', tls] = /^([^/=,]*)(\/[^=,]*)=([^=,]*)(?:,(.*))?$/.exec(text) ?? [];
  if (path === '' || (tls !== undefined && !/^tls(=[^=,]*)?$/.test(tls)))
    throw badRequest(
      `--rule takes HOST/PATH=SERVICE:PORT[,tls[=SECRET]], such as "example.com/shop*=web:80,tls=cert", not "${text}"`,
    );
  // A star at the end is no part of the path: it says that longer paths are meant, too.
  const isPrefix = path.endsWith('*');
  return {
    host,
    path: {
      path: isPrefix ? path.slice(0, -1) : path,
      pathType: isPrefix ? 'Prefix' : 'Exact',
      backend: readBackend(service, `--rule "${text}"`),
    },
    secret: tls?.slice('tls='.length),
  };
}

function readBackend(text: string, flag: string): JsonObject {
  const [, name = '', port = ''] = /^([^:]+):([^:]+)$/.exec(text) ?? [];
  if (name === '') throw badRequest(`${flag}: a backend is SERVICE:PORT, the port by its number or name, not "${text}"`);
  return { service: { name, port: /^\d+$/.test(port) ? { number: Number(port) } : { name: port } } };
}

/** The hosts of each secret; each host has the secret of the first rule that names one. */
function tlsOf(rules: readonly Rule[]): JsonObject[] {
  const secrets = new Map<string, string[]>();
  const seen = new Set<string>();
  for (const { host, secret } of rules) {
    if (secret === undefined || seen.has(host)) continue;
    seen.add(host);
    const hosts = secrets.get(secret) ?? [];
    if (host !== '') hosts.push(host);
    secrets.set(secret, hosts);
  }
  const entries = [...secrets].map(([secretName, hosts]) => ({
    ...(hosts.length > 0 && { hosts }),
    ...(secretName && { secretName }),
  }));
  return entries.filter((entry) => Object.keys(entry).length > 0);
}
