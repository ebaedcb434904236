import { openMessage } from '../../../api/codec/open-message.ts';
import { badRequest, unimplemented } from '../../../api/errors/index.ts';
import type { AccessVerb } from '../../authz/attributes.ts';
import { admitConnection } from '../../registry/admit-connection.ts';
import type { KindStores } from '../../registry/kind-stores.ts';
import type { Tunnels } from '../../tunnel/tunnels.ts';
import type { HttpRequest } from '../http-call.ts';
import type { ResourceRequest } from '../resource-routes.ts';
import type { StreamRoute, StreamWay } from '../streams/stream-route.ts';
import { forwardRequest } from './forward-request.ts';
import { sendNodePage } from './node-pages.ts';
import { type ProxyName, parseProxyName } from './proxy-name.ts';
import { podTarget, serviceTarget } from './proxy-target.ts';

export interface ProxyRouteDeps {
  readonly stores: KindStores;
  readonly tunnels: Tunnels;
  readonly random: () => number;
}

/** What a role has to allow, as in Kubernetes: "get" of "pods/proxy". */
const verbs: ReadonlyMap<string, AccessVerb> = new Map([
  ['GET', 'get-proxy'],
  ['HEAD', 'get-proxy'],
  ['POST', 'create-proxy'],
  ['PUT', 'update-proxy'],
  ['PATCH', 'patch-proxy'],
  ['DELETE', 'delete-proxy'],
  ['OPTIONS', 'options-proxy'],
]);
const kindNames = { Pod: 'pod', Service: 'service', Node: 'node' } as const;

/** How a request to .../proxy/... is served; undefined for kinds that have no proxy. */
export function proxyRoute({ store, target, request }: ResourceRequest, deps: ProxyRouteDeps): StreamRoute | undefined {
  const kind = Object.hasOwn(kindNames, store.id) ? (store.id as keyof typeof kindNames) : undefined;
  if (!kind) return undefined;
  const verb = verbs.get(request.method ?? '');
  if (!verb) throw unimplemented(`${request.method} is not served for ${target.resource}/proxy`);
  const { namespace } = target;
  if (store.kind.namespaced && namespace === '') throw badRequest(`${target.resource} are in namespaces: name one in the path`);
  return {
    of: 'stream',
    method: `/${store.kind.service}/Proxy`,
    prepare(context) {
      context.authorize({ verb, kind, namespace, name: target.name });
      const name = parseProxyName(kindNames[kind], target.name);
      const asked = readPath(request, store.kind.namespaced ? PARTS_IN_NAMESPACE : PARTS);
      return {
        run: async (way) => {
          const options = asked.path === '' ? {} : { path: asked.path };
          const form = { subresource: 'proxy', kind: `${kind}ProxyOptions`, message: openMessage };
          await admitConnection(store, { namespace, name: target.name }, { form, options }, context);
          await serve(kind, { namespace, name, ...asked }, deps, way);
        },
      };
    },
  };
}

interface Asked {
  readonly namespace: string;
  readonly name: ProxyName;
  readonly prefix: string;
  readonly path: string;
  readonly search: string;
}

async function serve(
  kind: keyof typeof kindNames,
  { namespace, name, ...asked }: Asked,
  { stores, tunnels, random }: ProxyRouteDeps,
  way: StreamWay,
): Promise<void> {
  const { request, response, upgrade } = way;
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  // Relative links of the page lead below it then. As Kubernetes does it.
  if (asked.path === '' && isRead && !upgrade) {
    response.writeHead(301, { location: `${asked.prefix}/${asked.search}` });
    response.end();
    return;
  }
  const path = asked.path || '/';
  const storeOf = (id: string) => stores.get(id)!;
  const pods = storeOf('Pod');
  if (kind === 'Node') {
    if (!isRead) throw unimplemented(`${request.method} is not served for nodes/proxy: its pages can only be read`);
    await sendNodePage({ nodes: storeOf('Node'), pods, measured: storeOf('NodeMetrics'), tunnels }, name.name, path, way);
    return;
  }
  const deps = { pods, services: storeOf('Service'), slices: storeOf('EndpointSlice'), tunnels, random };
  const target = await (kind === 'Pod' ? podTarget : serviceTarget)(deps, namespace, name);
  await forwardRequest({ ...asked, target, path }, way);
}

/** "", "api", "v1", "namespaces", N, "pods", P, "proxy"; of nodes without a namespace. */
const PARTS_IN_NAMESPACE = 8;
const PARTS = 6;

/** The path behind "proxy", percent-encoded as it came; "" where there is not even a slash. */
function readPath({ url = '/' }: HttpRequest, parts: number): Pick<Asked, 'prefix' | 'path' | 'search'> {
  const { pathname, search } = new URL(`http://door${url.startsWith('/') ? '' : '/'}${url}`);
  const all = pathname.split('/');
  return {
    prefix: all.slice(0, parts).join('/'),
    path: all
      .slice(parts)
      .map((each) => `/${each}`)
      .join(''),
    search,
  };
}
