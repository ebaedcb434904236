import { ApiError, unimplemented } from '../../../api/errors/index.ts';
import type { Aggregation } from '../../aggregation/aggregation.ts';
import type { ExtensionConnections } from '../../aggregation/extension-connections.ts';
import { type ExtensionDeps, extensionHost, extensionTarget } from '../../aggregation/extension-server.ts';
import type { RemoteGroup } from '../../aggregation/remote-groups.ts';
import { remoteUserHeaders } from '../../aggregation/remote-user.ts';
import type { Access, Attributes } from '../../authz/attributes.ts';
import { AUDIT_ID } from '../../calls/request-id.ts';
import { noSuchResource } from '../errors/no-such-resource.ts';
import type { HttpRequest } from '../http-call.ts';
import { hasBody } from '../listener/unread-request.ts';
import type { RequestPath, ResourcePath } from '../requests/parse-path.ts';
import { flag } from '../requests/read-query.ts';
import type { StreamRoute, StreamWay } from '../streams/stream-route.ts';
import { forwardRequest } from './forward-request.ts';

const METHOD = '/berth.apiregistration.v1.Extensions/Request';
/** As Kubernetes bounds them: what discovery asks for, and what is no watch. */
const discoveryMs = 5_000;
const answerMs = 60_000;

interface Asked {
  readonly request: HttpRequest;
  readonly query: URLSearchParams;
}

/** How a request of a group is served that an extension server has; undefined for all others. */
export function extensionRoute(
  path: RequestPath,
  { request, query }: Asked,
  { groups, deps, connections }: Aggregation,
): StreamRoute | undefined {
  if (groups.size === 0 || !deps || !connections) return undefined;
  const to = { deps, connections };
  if (path.of === 'path') {
    const [, first, group = '', version = '', ...more] = path.path.replace(/\/$/, '').split('/');
    const remote = first === 'apis' && more.length === 0 ? groups.find(group, version) : undefined;
    if (!remote) return undefined;
    return {
      of: 'stream',
      method: METHOD,
      prepare(context) {
        context.authorizePath(path.path, pathVerbOf(request));
        return { run: (way) => forward(remote, to, discoveryMs, way) };
      },
    };
  }
  const { target } = path;
  const remote = groups.find(target.group, target.version);
  if (!remote) return undefined;
  // The extension server reads the path decoded: it would see other parts than those that were authorized.
  const parts = [target.namespace, target.resource, target.name, target.subresource];
  if (parts.some((each) => each.includes('/'))) throw noSuchResource(`the path "${request.url}"`);
  const access = accessOf(target, request, query);
  // Long-running in Kubernetes' words, or likely to be.
  const isLong = access.verb === 'watch' || target.subresource !== '';
  return {
    of: 'stream',
    method: METHOD,
    prepare(context) {
      context.authorize(access);
      return { run: (way) => forward(remote, to, isLong ? undefined : answerMs, way) };
    },
  };
}

/** As in Kubernetes any method passes to the extension server, and is the verb; a HEAD is a read here. */
const pathVerbOf = ({ method = '' }: HttpRequest): string => (method === 'HEAD' ? 'get' : method.toLowerCase());

const verbs = { POST: 'create', PUT: 'update', PATCH: 'patch' } as const;

/** What is asked for, as Kubernetes reads it from a path and a method. Throws METHOD_NOT_ALLOWED. */
export function accessOf(target: ResourcePath, { method = '' }: HttpRequest, query: URLSearchParams): Access {
  const { group, resource, subresource, namespace, name } = target;
  const verb = verbOf(method, target, query);
  const attributes: Attributes = {
    ...{ group, resource, subresource, namespace, name },
    verb: verb === 'delete-collection' ? 'deletecollection' : verb,
  };
  return { verb, kind: 'Extension', namespace, name, attributes };
}

function verbOf(method: string, { name, isWatch }: ResourcePath, query: URLSearchParams) {
  if (method === 'GET' || method === 'HEAD') {
    if (isWatch || (name === '' && flag(query, 'watch') === true)) return 'watch';
    return name === '' ? 'list' : 'get';
  }
  if (method === 'DELETE') return name === '' ? 'delete-collection' : 'delete';
  if (Object.hasOwn(verbs, method)) return verbs[method as keyof typeof verbs];
  throw unimplemented(`${method.slice(0, 20)} is not served`);
}

interface To {
  readonly deps: ExtensionDeps;
  readonly connections: ExtensionConnections;
}

async function forward(
  remote: RemoteGroup,
  { deps, connections }: To,
  withinMs: number | undefined,
  way: StreamWay,
): Promise<void> {
  if (!remote.isAvailable) throw notAvailable();
  const target = await extensionTarget(remote, deps).catch((error: unknown) => {
    throw notAvailable(error);
  });
  const { url = '/' } = way.request;
  const { pathname, search } = new URL(`http://door${url.startsWith('/') ? '' : '/'}${url}`);
  const kept = connections.of(remote);
  await forwardRequest(
    {
      ...{ target, prefix: '', path: pathname, search },
      extension: {
        tls: kept.tls,
        headers: {
          host: extensionHost(remote),
          [AUDIT_ID]: way.context.requestId,
          ...remoteUserHeaders(way.context.identity),
        },
        answersWithinMs: withinMs,
        ...(withinMs !== undefined && mayRepeat(way) && { kept }),
      },
    },
    way,
  );
}

/** Only reads use kept connections: the server may close one while a request goes out, and a read can be sent again. */
const mayRepeat = ({ request, upgrade }: StreamWay): boolean =>
  (request.method === 'GET' || request.method === 'HEAD') && !upgrade && !hasBody(request);

/** In the words that Kubernetes' clients have for it. */
function notAvailable(cause?: unknown): ApiError {
  const message = 'the server is currently unable to handle the request';
  return new ApiError('UNAVAILABLE', 'ServiceUnavailable', message, { parts: { of: 'text', message }, cause });
}
